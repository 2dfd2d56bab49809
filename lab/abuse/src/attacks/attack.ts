import type { Attacker } from "../attacker/attacker.ts";
import type { Target } from "../attacker/target.ts";

/** One attack. It runs in a separate process, which is killed when its time is over. */
export interface Attack {
  /** for `--only` and the table */
  readonly name: string;
  /** one line */
  readonly what: string;
  /** limits of the attack itself */
  readonly bounds: AttackBounds;
  /** Creates data before the attack's time begins, if that takes long. */
  prepare?(attacker: Attacker): Prepared | Promise<Prepared>;
  /** Continues until `attacker.signal` aborts, or ends earlier. @param prepared by `prepare` */
  run(target: Target, attacker: Attacker, prepared: Prepared): Promise<void>;
  /** the harness's steps after the attack */
  readonly afterwards?: Afterwards | undefined;
}

/** Requests that an attack sends again and again. */
export type Prepared = readonly (string | Uint8Array)[];

interface AttackBounds {
  /** open at once */
  readonly connections: number;
}

/** `restart-engine`: the attacked execution client is killed and started again, which must not take longer than usual */
type Afterwards = "restart-engine";
