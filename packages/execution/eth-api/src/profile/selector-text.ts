import type { BlockSelector } from "@rnode/chain";
import { bytesToHex, toQuantity } from "@rnode/primitives";

/** The way errors refer to a block. */
export function selectorText(selector: BlockSelector): string {
  switch (selector.kind) {
    case "tag":
      return selector.tag;
    case "number":
      return toQuantity(selector.number);
    case "hash":
      return `${selector.requireCanonical ? "canonical hash" : "hash"} ${bytesToHex(selector.hash)}`;
  }
}
