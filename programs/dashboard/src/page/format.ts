/** How the page writes numbers, sizes and times. */

const GROUPED = new Intl.NumberFormat("en-US");

export const count = (value: number | undefined): string => (value === undefined ? "–" : GROUPED.format(value));

/** 1,234 blocks, 1 block */
export const counted = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** 0.5, 12.0; a negative number so near to zero that it is written as zero has no sign */
export const decimal = (value: number): string => value.toFixed(1).replace(/^-0\.0$/, "0.0");

export function bytes(value: number | undefined): string {
  if (value === undefined) return "–";
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${scaled(value / 1_000)} kB`;
  if (value < 1_000_000_000) return `${scaled(value / 1_000_000)} MB`;
  return `${scaled(value / 1_000_000_000)} GB`;
}

export function gas(value: number): string {
  if (value < 1_000) return count(value);
  return value < 1_000_000 ? `${scaled(value / 1_000)} k` : `${scaled(value / 1_000_000)} M`;
}

const scaled = (value: number): string => (value < 10 ? value.toFixed(1) : count(Math.round(value)));

export function duration(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  const whole = Math.max(0, Math.round(seconds));
  const joined = (large: number, unit: string, small: number, rest: string): string =>
    small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${rest}`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86_400) return joined(Math.floor(whole / 3600), "h", Math.floor(whole / 60) % 60, "min");
  return joined(Math.floor(whole / 86_400), "d", Math.floor(whole / 3600) % 24, "h");
}

/** lastInclusionL1Block: "Last inclusion L1 block"; an amount's unit is with its value */
export function inWords(name: string): string {
  const words = name
    .replace(/Ether$/, "")
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/\bl(?=[12]\b)/g, "L");
  return (words[0]?.toUpperCase() ?? "") + words.slice(1);
}

export const shortHash = (hash: string): string => (hash.length > 14 ? `${hash.slice(0, 8)}…${hash.slice(-4)}` : hash);

export function fee(wei: number): string {
  if (wei < 1e6) return `${count(wei)} wei`;
  const gwei = wei / 1e9;
  return gwei < 0.01 ? `${gwei.toExponential(1)} gwei` : `${gwei.toFixed(2)} gwei`;
}

export function ether(value: number | undefined): string {
  if (value === undefined) return "–";
  if (value === 0) return "0 ETH";
  if (value < 0.0001) return `${Number((value * 1e6).toPrecision(3))} µETH`;
  return `${value < 1 ? Number(value.toPrecision(4)) : count(Math.round(value * 1000) / 1000)} ETH`;
}

/** Time of day, the same everywhere on the page. */
export const timeOf = (atMs: number): string => new Date(atMs).toLocaleTimeString("en-GB");
