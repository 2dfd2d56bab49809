/** What is attacked: ports of the loopback interface, and what anybody may know of the chain. */
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
  /** multiaddress of the verifier's rollup node */
  readonly p2p: string;
  readonly l2ChainId: number;
  /** has funds; the attacker's own */
  readonly privateKey: string;
}
