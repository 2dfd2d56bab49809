/** The messages of an error and of what caused it: "fetch failed" alone says nothing. */
export function errorCauses(error: unknown): string {
  const messages: string[] = [];
  for (let at: unknown = error; at instanceof Error && messages.length < 4; at = at.cause) {
    if (at.message !== "" && !messages.includes(at.message)) messages.push(at.message);
  }
  return messages.length === 0 ? String(error) : messages.join(": ");
}
