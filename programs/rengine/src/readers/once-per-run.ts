/**
 * Runs the action at most once in a synchronous run, which handles at most one read from each socket. All requests of such a run
 * arrived before it began, and so did the commits that their senders know of. A turn of the event loop would be too long: a socket that
 * is read late in the turn may bring a request that was sent after the turn began.
 */
export function oncePerRun(action: () => void): () => void {
  let isDone = false;
  const onRunEnd = (): void => {
    isDone = false;
  };
  return () => {
    if (isDone) return;
    isDone = true;
    queueMicrotask(onRunEnd);
    action();
  };
}
