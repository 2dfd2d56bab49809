/** The newest block that a program has, and the newest one that it knows of. */
export interface KnownHead {
  readonly number: number;
  readonly timestampSec: number;
  /** `undefined`: it knows of no newer block */
  readonly target: number | undefined;
}

/** What a balancer demands of the head of a node that it sends requests to. */
export interface HeadLimits {
  readonly maxLagBlocks?: number;
  readonly maxAgeSec?: number;
}

const NAMES = { "max-lag-blocks": "maxLagBlocks", "max-age": "maxAgeSec" } as const;

/** The limits in the query of `GET /readyz`, or what is wrong with it. An unknown name is refused: a limit with a typing error would never apply. */
export function readHeadLimits(query: URLSearchParams): HeadLimits | string {
  const limits: { -readonly [name in keyof HeadLimits]: HeadLimits[name] } = {};
  for (const [name, value] of query) {
    if (!Object.hasOwn(NAMES, name)) return `unknown parameter "${name.slice(0, 40)}": use ${Object.keys(NAMES).join(" or ")}`;
    const key = NAMES[name as keyof typeof NAMES];
    if (limits[key] !== undefined) return `${name} is given twice: give it once`;
    if (!/^\d{1,9}$/.test(value)) return `${name} is "${value.slice(0, 40)}": give a whole number of ${unitOf(key)}`;
    limits[key] = Number(value);
  }
  return limits;
}

/** Why a head is beyond the limits; empty if it is within. */
export function headFaults(head: KnownHead | undefined, limits: HeadLimits, nowSec: number): readonly string[] {
  const { maxLagBlocks, maxAgeSec } = limits;
  if (maxLagBlocks === undefined && maxAgeSec === undefined) return [];
  if (head === undefined) return ["its head is not known yet"];
  const { number, timestampSec, target = number } = head;
  const lag = target - number;
  const ageSec = Math.floor(nowSec) - timestampSec;
  const faults: string[] = [];
  if (maxLagBlocks !== undefined && lag > maxLagBlocks)
    faults.push(`its head ${number} is ${lag} blocks behind block ${target}, more than ${maxLagBlocks}`);
  if (maxAgeSec !== undefined && ageSec > maxAgeSec) faults.push(`its head ${number} is ${ageSec} s old, more than ${maxAgeSec} s`);
  return faults;
}

const unitOf = (key: keyof HeadLimits): string => (key === "maxLagBlocks" ? "blocks" : "seconds");
