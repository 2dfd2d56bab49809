import { useState } from "preact/hooks";
import type { CheckRequest } from "../check/run-check.ts";
import { fetchBlock, fetchOrigin } from "./fetch-block.ts";

interface InputProps {
  readonly request: CheckRequest;
  readonly change: (part: Partial<CheckRequest>) => void;
  readonly fail: (text: string) => void;
}

/** Longer texts do not stay in a text field, which would make the page slow. */
const MAX_SHOWN = 200_000;

const LOCAL_NODE = "http://127.0.0.1:8545";
/** Who leads here may say which node is meant: `?node=URL`. */
const givenNode = (): string => new URLSearchParams(location.search).get("node") ?? LOCAL_NODE;

interface FromNodeProps {
  readonly label: string;
  /** on the button */
  readonly action: string;
  readonly url: string;
  readonly block: string;
  readonly fetchJson: (url: string, block: string) => Promise<object>;
  readonly onLoaded: (json: string) => void;
  readonly fail: (text: string) => void;
}

/** Loads something of a block from a node. */
function FromNode({ label, action, url: firstUrl, block: firstBlock, fetchJson, onLoaded, fail }: FromNodeProps) {
  const [url, setUrl] = useState(firstUrl);
  const [block, setBlock] = useState(firstBlock);
  const [isLoading, setLoading] = useState(false);
  const load = async (): Promise<void> => {
    setLoading(true);
    try {
      onLoaded(JSON.stringify(await fetchJson(url, block.trim())));
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
    } finally {
      setLoading(false);
    }
  };
  return (
    <div class="row">
      <label class="grow">
        {label}
        <input type="url" value={url} onInput={(event) => setUrl(event.currentTarget.value)} />
      </label>
      <label>
        Block
        <input type="text" value={block} size={10} onInput={(event) => setBlock(event.currentTarget.value)} />
      </label>
      <button type="button" disabled={isLoading} onClick={() => void load()}>
        {isLoading ? "Loading…" : action}
      </button>
    </div>
  );
}

export function BlockInput({ request, change, fail }: InputProps) {
  return (
    <fieldset>
      <legend>Block and witness</legend>
      <FromNode
        label="Node"
        action="Load"
        url={givenNode()}
        block="latest"
        fetchJson={fetchBlock}
        onLoaded={(witness) => change({ witness })}
        fail={fail}
      />
      <Pasted
        label="or a file of rengine stateless"
        value={request.witness}
        accept=".json,.gz"
        placeholder='{"chain": "op-mainnet", "block": "0x…", "witness": {…}}'
        onValue={(witness) => change({ witness })}
        fail={fail}
      />
      <label>
        Expected hash <small>optional: from a node or an explorer that you trust</small>
        <input
          type="text"
          class="mono"
          value={request.expectedHash}
          placeholder="0x…"
          onInput={(event) => change({ expectedHash: event.currentTarget.value })}
        />
      </label>
    </fieldset>
  );
}

export function OriginInput({ request, change, fail }: InputProps) {
  return (
    <fieldset>
      <legend>
        L1 origin <small>optional: for the block's deposits</small>
      </legend>
      <FromNode
        label="L1 node"
        action="Load origin"
        url={LOCAL_NODE}
        block=""
        fetchJson={fetchOrigin}
        onLoaded={(origin) => change({ origin })}
        fail={fail}
      />
      <Pasted
        label="or the L1 block and its receipts, as a node gives them"
        value={request.origin}
        accept=".json,.gz"
        placeholder='{"block": {"hash": "0x…", …}, "receipts": […]}'
        onValue={(origin) => change({ origin })}
        fail={fail}
      />
    </fieldset>
  );
}

export function DataInput({ request, change, fail }: InputProps) {
  return (
    <fieldset>
      <legend>
        L1 data <small>optional</small>
      </legend>
      <Pasted
        label="Batcher transactions, their calldata, or blobs, in hex"
        value={request.data}
        accept=".hex,.txt,.json"
        placeholder="0x00…"
        onValue={(data) => change({ data })}
        fail={fail}
      />
      <div class="row">
        <label class="grow">
          Network, or rollup configuration <small>default: that of the block</small>
          <input
            type="text"
            value={request.rollup.length > MAX_SHOWN ? "" : request.rollup}
            placeholder="op-mainnet"
            onInput={(event) => change({ rollup: event.currentTarget.value })}
          />
        </label>
        <label>
          Time of the L1 block <small>seconds</small>
          <input
            type="text"
            inputMode="numeric"
            size={12}
            value={request.l1Time}
            placeholder="the block's"
            onInput={(event) => change({ l1Time: event.currentTarget.value })}
          />
        </label>
      </div>
    </fieldset>
  );
}

interface PastedProps {
  readonly label: string;
  readonly value: string;
  readonly accept: string;
  readonly placeholder: string;
  readonly onValue: (text: string) => void;
  readonly fail: (text: string) => void;
}

/** A text field, and a file instead. */
function Pasted({ label, value, accept, placeholder, onValue, fail }: PastedProps) {
  // A long text may come in several input events: it is shortened once the field is left, not between two of them.
  const [isEdited, setEdited] = useState(false);
  const isLong = value.length > MAX_SHOWN && !isEdited;
  return (
    <div class="pasted">
      <label>
        {label}
        <textarea
          rows={4}
          class="mono"
          spellcheck={false}
          readOnly={isLong}
          placeholder={placeholder}
          value={isLong ? `${value.slice(0, 2000)}…\n(${(value.length / 2 ** 20).toFixed(1)} MiB)` : value}
          onInput={(event) => {
            setEdited(true);
            onValue(event.currentTarget.value);
          }}
          onBlur={() => setEdited(false)}
        />
      </label>
      <input
        type="file"
        aria-label={`${label}: file`}
        accept={accept}
        multiple
        onChange={(event) => {
          readFiles(event.currentTarget.files).then(onValue, (error: unknown) => fail(String(error)));
        }}
      />
    </div>
  );
}

async function readFiles(files: FileList | null): Promise<string> {
  const texts = await Promise.all(Array.from(files ?? [], textOf));
  return texts.join("\n");
}

/** Decompresses gzip. */
async function textOf(file: File): Promise<string> {
  if (!file.name.endsWith(".gz")) return await file.text();
  return await new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
