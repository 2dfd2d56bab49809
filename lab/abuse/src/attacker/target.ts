/** The target: ports of the loopback interface, and public data of the chain. */
export interface Target {
  /** where the programs listen */
  readonly host: string;
  readonly http: number;
  readonly ws: number;
  /** Engine API */
  readonly auth: number;
  /** rollup node */
  readonly node: number;
  readonly batcher: number;
  readonly engineMetrics: number;
  readonly nodeMetrics: number;
  /** profiles of the execution client and of the rollup node */
  readonly enginePprof: number;
  readonly nodePprof: number;
  /** the development chain that is L1 */
  readonly l1: number;
  /** the genesis file of L2 */
  readonly l2ChainFile: string;
  /** multiaddress of the verifier's rollup node */
  readonly p2p: string;
  /** the verifier's execution client: its RPC port, and where peers reach it (`enode://…`, the same port for TCP and UDP) */
  readonly verifierHttp: number;
  readonly verifierEnode: string;
  /** the sequencer's stream of subblocks */
  readonly subblocks: number;
  /** where the verifier's execution client expects another source of subblocks */
  readonly hostileStream: number;
  readonly l2ChainId: number;
  /** has funds; the attacker's own */
  readonly privateKey: string;
  /** has funds; for transactions that peers bring to the verifier */
  readonly peerPrivateKey: string;
}
