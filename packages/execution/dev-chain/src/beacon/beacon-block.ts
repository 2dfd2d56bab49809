import { asciiToBytes, concatBytes } from "@rnode/primitives";
import { type Block, encodeTransaction, type Withdrawal } from "@rnode/protocol";
import { byteListRoot, bytesRoot, containerRoot, depthFor, listRoot, merkleBranch, merkleRoot, numberRoot } from "./ssz.ts";

/*
 * Beacon blocks in SSZ. There are no validators: signatures are the point at infinity, the lists of validator operations are
 * empty, and the state root is a placeholder. Everything else follows the specification, so that roots and proofs can be checked.
 * Spec: consensus-specs deneb/beacon-chain.md, electra/beacon-chain.md § Containers; deneb/p2p-interface.md § BlobSidecar
 */

export type BeaconFork = "deneb" | "electra" | "fulu";

export interface BeaconHeader {
  readonly slot: number;
  readonly proposerIndex: number;
  readonly parentRoot: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly bodyRoot: Uint8Array;
}

/** A body by the roots of its fields; the others follow from the commitments. */
export interface BeaconBody {
  readonly fieldRoots: readonly Uint8Array[];
  readonly commitments: readonly Uint8Array[];
}

const MAX_TRANSACTIONS = 2 ** 20;
const MAX_TRANSACTION_BYTES = 2 ** 30;
const MAX_WITHDRAWALS = 16;
const MAX_EXTRA_DATA_BYTES = 32;
const MAX_COMMITMENTS = 4096;
const MAX_DEPOSIT_REQUESTS = 8192;
const MAX_WITHDRAWAL_REQUESTS = 16;
const MAX_CONSOLIDATION_REQUESTS = 2;
/** index of blob_kzg_commitments in the body */
const COMMITMENTS_FIELD = 11;
const BODY_DEPTH = 4;
const COMMITMENTS_DEPTH = depthFor(MAX_COMMITMENTS);

const GRAFFITI = (() => {
  const graffiti = new Uint8Array(32);
  graffiti.set(asciiToBytes("rengine --dev"));
  return graffiti;
})();
const ZERO_ROOT = new Uint8Array(32);
/** The point at infinity, the encoding of an empty aggregate signature. */
export const NO_SIGNATURE = Uint8Array.of(0xc0, ...new Uint8Array(95));

const emptyList = (limit: number): Uint8Array => listRoot([], limit);
const NO_SYNC_AGGREGATE = containerRoot([bytesRoot(new Uint8Array(64)), bytesRoot(NO_SIGNATURE)]);
const NO_ETH1_DATA = containerRoot([ZERO_ROOT, numberRoot(0), ZERO_ROOT]);

/** @param requests EIP-7685 requests of the execution block, type byte first */
export function beaconBody(
  fork: BeaconFork,
  block: Block,
  blockHash: Uint8Array,
  commitments: readonly Uint8Array[],
  requests: readonly Uint8Array[],
): BeaconBody {
  const isDeneb = fork === "deneb";
  const fieldRoots = [
    bytesRoot(NO_SIGNATURE), // randao_reveal
    NO_ETH1_DATA,
    GRAFFITI,
    emptyList(16), // proposer_slashings
    emptyList(isDeneb ? 2 : 1), // attester_slashings
    emptyList(isDeneb ? 128 : 8), // attestations
    emptyList(16), // deposits
    emptyList(16), // voluntary_exits
    NO_SYNC_AGGREGATE,
    executionPayloadRoot(block, blockHash),
    emptyList(16), // bls_to_execution_changes
    listRoot(commitments.map(bytesRoot), MAX_COMMITMENTS),
    ...(isDeneb ? [] : [executionRequestsRoot(requests)]),
  ];
  return { fieldRoots, commitments };
}

export const bodyRootOf = ({ fieldRoots }: BeaconBody): Uint8Array => merkleRoot(fieldRoots, BODY_DEPTH);

export const headerRootOf = ({ slot, proposerIndex, parentRoot, stateRoot, bodyRoot }: BeaconHeader): Uint8Array =>
  containerRoot([numberRoot(slot), numberRoot(proposerIndex), parentRoot, stateRoot, bodyRoot]);

/** Shows that the body holds a commitment: 17 hashes, the lowest first. */
export function commitmentInclusionProof({ fieldRoots, commitments }: BeaconBody, index: number): Uint8Array[] {
  return [
    ...merkleBranch(commitments.map(bytesRoot), index, COMMITMENTS_DEPTH),
    numberRoot(commitments.length),
    ...merkleBranch(fieldRoots, COMMITMENTS_FIELD, BODY_DEPTH),
  ];
}

function executionPayloadRoot({ header, transactions, withdrawals = [] }: Block, blockHash: Uint8Array): Uint8Array {
  return containerRoot([
    header.parentHash,
    bytesRoot(header.beneficiary),
    header.stateRoot,
    header.receiptsRoot,
    bytesRoot(header.logsBloom),
    header.mixHash,
    numberRoot(header.number),
    numberRoot(header.gasLimit),
    numberRoot(header.gasUsed),
    numberRoot(header.timestamp),
    byteListRoot(header.extraData, MAX_EXTRA_DATA_BYTES),
    numberRoot(header.baseFeePerGas ?? 0n),
    blockHash,
    listRoot(
      transactions.map((transaction) => byteListRoot(encodeTransaction(transaction), MAX_TRANSACTION_BYTES)),
      MAX_TRANSACTIONS,
    ),
    listRoot(withdrawals.map(withdrawalRoot), MAX_WITHDRAWALS),
    numberRoot(header.blobGasUsed ?? 0n),
    numberRoot(header.excessBlobGas ?? 0n),
  ]);
}

const withdrawalRoot = ({ index, validatorIndex, address, amount }: Withdrawal): Uint8Array =>
  containerRoot([numberRoot(index), numberRoot(validatorIndex), bytesRoot(address), numberRoot(amount)]);

/** The fields of each kind of request, in bytes; numbers are little-endian there already. */
const REQUEST_KINDS = [
  { fields: [48, 32, 8, 96, 8], limit: MAX_DEPOSIT_REQUESTS },
  { fields: [20, 48, 8], limit: MAX_WITHDRAWAL_REQUESTS },
  { fields: [20, 48, 48], limit: MAX_CONSOLIDATION_REQUESTS },
] as const;

/** Spec: EIP-6110, EIP-7002, EIP-7251: a request of a type is the concatenation of its containers. */
function executionRequestsRoot(requests: readonly Uint8Array[]): Uint8Array {
  return containerRoot(
    REQUEST_KINDS.map(({ fields, limit }, type) => {
      const bytes = concatBytes(...requests.filter((request) => request[0] === type).map((request) => request.subarray(1)));
      const size = fields.reduce((sum, length) => sum + length, 0);
      const roots: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size) roots.push(fieldsRoot(bytes.subarray(at, at + size), fields));
      return listRoot(roots, limit);
    }),
  );
}

function fieldsRoot(bytes: Uint8Array, lengths: readonly number[]): Uint8Array {
  let at = 0;
  return containerRoot(lengths.map((length) => bytesRoot(bytes.subarray(at, (at += length)))));
}
