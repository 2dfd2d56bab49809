/** Places in what the threads of `LiveRoots` share. 1: the thread takes questions. */
export const SIGNAL_READY = 0;
/** Answers so far. */
export const SIGNAL_REPLIES = 1;
/** Trie nodes in the thread's memory. */
export const SIGNAL_NODES = 2;
export const SIGNAL_COUNT = 3;
