import { bytesToHex, equalBytes, isZeroBytes } from "@rnode/primitives";

/** The protocol versions that L1 signals for a superchain: 32 bytes each. */
export interface SignalledVersions {
  readonly recommended: Uint8Array;
  readonly required: Uint8Array;
}

interface Numbers {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly preRelease: number;
}

const SIZE = 32;
const BUILD_AT = 8;
const NUMBERS_AT = 16;
const MAX = 2 ** 32 - 1;

/**
 * `type 1 ‖ reserved 7 ‖ build 8 ‖ major u32 ‖ minor u32 ‖ patch u32 ‖ pre-release u32`, all big-endian.
 * Spec: docs/protocol/05-services.md#runtime-config-protocol-versions
 */
export function encodeProtocolVersion({ major, minor, patch, preRelease }: Numbers): Uint8Array {
  const version = new Uint8Array(SIZE);
  const view = new DataView(version.buffer);
  for (const [index, number] of [major, minor, patch, preRelease].entries()) view.setUint32(NUMBERS_AT + 4 * index, number);
  return version;
}

/** The protocol version that these programs implement: up to Jovian. */
export const LOCAL_PROTOCOL_VERSION = encodeProtocolVersion({ major: 9, minor: 0, patch: 0, preRelease: 0 });

const buildOf = (version: Uint8Array): Uint8Array => version.subarray(BUILD_AT, NUMBERS_AT);

function numbersOf(version: Uint8Array): Numbers {
  const view = new DataView(version.buffer, version.byteOffset + NUMBERS_AT);
  return { major: view.getUint32(0), minor: view.getUint32(4), patch: view.getUint32(8), preRelease: view.getUint32(12) };
}

/** Results of a comparison of versions, as in the metric `protocol_version_delta`. */
export const VERSION_DELTA = {
  matching: 0,
  aheadPreRelease: 1,
  aheadPatch: 2,
  aheadMinor: 3,
  aheadMajor: 4,
  outdatedPreRelease: -1,
  outdatedPatch: -2,
  outdatedMinor: -3,
  outdatedMajor: -4,
  unknownType: 100,
  differentBuild: 101,
  empty: 102,
  invalid: 103,
} as const;

/** A value of `VERSION_DELTA`. @param version, other 32 bytes each */
export function compareProtocolVersions(version: Uint8Array, other: Uint8Array): number {
  if (isZeroBytes(version) || isZeroBytes(other)) return VERSION_DELTA.empty;
  if (version[0] !== other[0]) return VERSION_DELTA.unknownType;
  if (!equalBytes(buildOf(version), buildOf(other))) return VERSION_DELTA.differentBuild;
  const [own, its] = [numbersOf(version), numbersOf(other)];
  if ([...Object.values(own), ...Object.values(its)].includes(MAX)) return VERSION_DELTA.invalid;
  const [a, b] = [beforeRelease(own), beforeRelease(its)];
  const levels = [
    [a.major - b.major, VERSION_DELTA.aheadMajor],
    [a.minor - b.minor, VERSION_DELTA.aheadMinor],
    [a.patch - b.patch, VERSION_DELTA.aheadPatch],
    [a.preRelease - b.preRelease, VERSION_DELTA.aheadPreRelease],
  ] as const;
  const [difference, ahead] = levels.find(([found]) => found !== 0) ?? [0, 0];
  return Math.sign(difference) * ahead || VERSION_DELTA.matching;
}

/** A pre-release counts as one step below its release. */
function beforeRelease(numbers: Numbers): Numbers {
  const { major, minor, patch, preRelease } = numbers;
  if (preRelease === 0) return numbers;
  if (patch > 0) return { ...numbers, patch: patch - 1 };
  if (minor > 0) return { ...numbers, minor: minor - 1, patch: MAX };
  return major > 0 ? { ...numbers, major: major - 1, minor: MAX } : numbers;
}

/** `v9.1.0`, with a pre-release and a build `v9.1.0-2+mybuild`. */
export function formatProtocolVersion(version: Uint8Array): string {
  if (version[0] !== 0) return `v0.0.0-unknown.${bytesToHex(version)}`;
  const { major, minor, patch, preRelease } = numbersOf(version);
  const build = buildOf(version);
  return `v${major}.${minor}.${patch}${preRelease === 0 ? "" : `-${preRelease}`}${isZeroBytes(build) ? "" : `+${formatBuild(build)}`}`;
}

function formatBuild(build: Uint8Array): string {
  const text = String.fromCharCode(...build).replace(/\0+$/, "");
  return /^[a-zA-Z0-9-][a-zA-Z0-9.-]*$/.test(text) ? text : bytesToHex(build);
}
