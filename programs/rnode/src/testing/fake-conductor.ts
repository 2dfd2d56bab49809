import { anyJson, createRpcServer, type MethodTable, method, param, RpcError, type RpcServer } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { envelopeFromJson } from "@rnode/protocol";

/** A conductor as a rollup node sees one, with upstream's methods and answers, over HTTP. */
export class FakeConductor {
  isLeader = true;
  /** every block that was committed, in order; one that is committed again is there again */
  readonly commits: { readonly number: number; readonly hash: Hex }[] = [];
  /** each method that was called */
  readonly asked: string[] = [];
  /** answers in place of its own: an Error is thrown, a promise is awaited; shifted at each request */
  readonly next: unknown[] = [];
  /** number of commits that are carried out without an answer */
  losesAnswers = 0;
  url = "";
  private server: RpcServer | undefined;

  async listen(port = 0): Promise<this> {
    const scripted = async (name: string, own: () => unknown): Promise<unknown> => {
      this.asked.push(name);
      if (this.next.length === 0) return own();
      const answer = await this.next.shift();
      if (answer instanceof Error) throw new RpcError(-32000, answer.message);
      return answer;
    };
    const methods: MethodTable = {
      conductor_leader: method({ params: [], handler: () => scripted("conductor_leader", () => this.isLeader) }),
      conductor_commitUnsafePayload: method({
        params: [param("payload", anyJson)],
        handler: ([json]) =>
          scripted("conductor_commitUnsafePayload", () => {
            if (!this.isLeader) throw new RpcError(-32000, "node is not the leader");
            const { blockNumber, blockHash } = envelopeFromJson(json).executionPayload;
            this.commits.push({ number: blockNumber, hash: bytesToHex(blockHash) });
            if (this.losesAnswers === 0) return null;
            this.losesAnswers--;
            return new Promise(() => {});
          }),
      }),
    };
    this.server = createRpcServer({ http: { host: "127.0.0.1", port }, methods, log: silentLogger });
    const { httpPort } = await this.server.listen();
    this.url = `http://127.0.0.1:${httpPort}`;
    return this;
  }

  async close(): Promise<void> {
    await this.server?.close();
  }
}
