import type { BlockSelector } from "@rnode/chain";
import { bytesToHex, toQuantity } from "@rnode/primitives";

/** A block as it is named in errors. */
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
