/** What `--pprof.type` may name: Go's kinds of profile. */
export const PROFILE_TYPES = ["cpu", "heap", "goroutine", "threadcreate", "block", "mutex", "allocs"] as const;
export type ProfileType = (typeof PROFILE_TYPES)[number];

/** Why there are no such profiles of a program in JavaScript, and what to take instead. */
export const NOT_IN_JAVASCRIPT: Partial<Readonly<Record<ProfileType, string>>> = {
  threadcreate: "threads are started for fixed tasks, and are not profiled: take cpu, or goroutine for what is waited for",
  block: "JavaScript does not block on channels: take goroutine for what is waited for, or cpu for what keeps others waiting",
  mutex: "JavaScript has no mutexes: take cpu for what keeps others waiting",
};
