export interface Print {
  out(line: string): void;
  err(line: string): void;
  /** replaces the line before it */
  progress(line: string): void;
}

/** @throws {Error} that names the option */
export function naturalNumber(option: string, value: string): number;
export function naturalNumber(option: string, value: string | undefined): number | undefined;
export function naturalNumber(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw new Error(`${option} is "${value}", expected a number`);
  return Number(value);
}
