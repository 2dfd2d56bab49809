/** Whether brackets nest deeper than `maxDepth`, found without parsing. Texts that are not JSON may get either answer. */
export function isDeeperThan(text: string, maxDepth: number): boolean {
  if (!hasMoreOpenings(text, maxDepth)) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at++;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x5d || code === 0x7d) depth--;
  }
  return false;
}

// PERF: `indexOf` runs at memory speed, and a small text rarely has more brackets than the limit.
function hasMoreOpenings(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ["[", "{"]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

/**
 * Whether objects and lists have more members and elements in total than `most`. Counts commas without parsing, including those
 * in strings. `JSON.parse` blocks the event loop: seconds for an object of a million names, a tenth of a second for a million
 * lists.
 */
export function hasMoreValues(text: string, most: number): boolean {
  if (text.length <= most) return false;
  let count = 0;
  for (let at = text.indexOf(","); at !== -1; at = text.indexOf(",", at + 1)) {
    if (++count >= most) return true;
  }
  return false;
}
