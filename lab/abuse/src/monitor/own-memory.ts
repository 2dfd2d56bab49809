import { readdirSync, readFileSync } from "node:fs";

/** Memory of a process and of the processes that it started, without pages of files, in MiB; 0 if it does not run. */
export function ownMemoryMib(pid: number, children: ReadonlyMap<number, readonly number[]>): number {
  const own = anonymousMib(pid);
  return (children.get(pid) ?? []).reduce((sum, child) => sum + ownMemoryMib(child, children), own);
}

/** The children of every process of this machine. */
export function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // the name in parentheses may contain spaces
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      const siblings = children.get(parent);
      if (siblings) siblings.push(Number(name));
      else children.set(parent, [Number(name)]);
    } catch {
      // it has ended
    }
  }
  return children;
}

function anonymousMib(pid: number): number {
  try {
    const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kib ?? 0) / 1024;
  } catch {
    return 0;
  }
}
