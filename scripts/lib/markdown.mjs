/** The anchors of a page's headings, as GitHub generates them. */
export function anchorsOf(markdown) {
  const anchors = new Map();
  const text = markdown.replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1/gm, "");
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, "")
      .trim()
      .replaceAll(" ", "-");
    const times = anchors.get(slug) ?? 0;
    anchors.set(slug, times + 1);
    if (times > 0) anchors.set(`${slug}-${times}`, 1);
  }
  return new Set(anchors.keys());
}
