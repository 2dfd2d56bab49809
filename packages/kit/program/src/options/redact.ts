const LONGEST_SHOWN = 200;

/** URLs without credentials, path and query: providers put their keys there. */
export function redactUrls(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s,"'/?#]*@/gi, "$1…@")
    .replace(/\b((?:https?|wss?):\/\/[^\s,"'/?#]+)[/?#][^\s,"']+/gi, "$1/…");
}

/** An entered text without possible secrets: also without anything as long as a key. */
export function redact(text: string): string {
  return redactUrls(text).replace(/(?:0x)?[0-9a-f]{60,}/gi, "(hidden)");
}

/** A value as it may be shown in an error: in quotes, redacted and not too long. */
export function quote(text: string): string {
  const shown = redact(text);
  return JSON.stringify(shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN)}…` : shown);
}
