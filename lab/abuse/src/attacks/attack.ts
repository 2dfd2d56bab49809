import type { Attacker } from "../attacker/attacker.ts";
import type { Target } from "../attacker/target.ts";

/** One way to abuse the system. It runs in a process of its own, which is killed when its time is over. */
export interface Attack {
  /** for `--only` and the table */
  readonly name: string;
  /** one line */
  readonly what: string;
  /** what bounds the attack itself */
  readonly bounds: AttackBounds;
  /** Makes what it sends, if that takes long: its time begins afterwards. */
  prepare?(attacker: Attacker): Prepared | Promise<Prepared>;
  /** Goes on until `attacker.signal` aborts; may end earlier. @param prepared by `prepare` */
  run(target: Target, attacker: Attacker, prepared: Prepared): Promise<void>;
  /** what the harness does once the attack is over */
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
