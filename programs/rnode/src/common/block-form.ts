import { extraDataBytes, type ForkTimes, type Header, rollupRulesAt } from "@rnode/protocol";

/**
 * How a header contradicts the fork times: a field that blocks of its time must or must not have. undefined: there is no
 * contradiction. Spec: docs/protocol/01-execution.md#header-and-body-validity
 */
export function contradictionOfForks(forkTimes: ForkTimes, header: Header): string | undefined {
  const { extraDataVersion, hasWithdrawals, hasBeaconRoot, hasExecutionRequests } = rollupRulesAt(forkTimes, header.timestamp);
  const fields: readonly (readonly [name: string, isThere: boolean, isExpected: boolean])[] = [
    ["withdrawalsRoot", header.withdrawalsRoot !== undefined, hasWithdrawals],
    ["parentBeaconBlockRoot", header.parentBeaconBlockRoot !== undefined, hasBeaconRoot],
    ["requestsHash", header.requestsHash !== undefined, hasExecutionRequests],
    ["blockAccessListHash", header.blockAccessListHash !== undefined, false],
    ["slotNumber", header.slotNumber !== undefined, false],
  ];
  for (const [name, isThere, isExpected] of fields) {
    if (isThere !== isExpected)
      return `it has ${isThere ? "a" : "no"} ${name}, and by the rollup's forks it must ${isExpected ? "" : "not "}have one`;
  }
  const { extraData } = header;
  if (extraDataVersion === undefined) {
    const version = versionOf(extraData);
    if (version === undefined) return undefined;
    return `its extraData holds fee parameters (version ${version}, ${extraData.length} bytes), and by the rollup's forks it must hold none`;
  }
  const expected = extraDataBytes(extraDataVersion);
  if (extraData.length === expected && extraData[0] === extraDataVersion) return undefined;
  return `its extraData has ${extraData.length} bytes, and by the rollup's forks it must be version ${extraDataVersion} with ${expected}`;
}

/** Before there are fee parameters, extraData may hold anything; only what looks like them is recognised. */
function versionOf(extraData: Uint8Array): 0 | 1 | undefined {
  return ([0, 1] as const).find((version) => extraData.length === extraDataBytes(version) && extraData[0] === version);
}
