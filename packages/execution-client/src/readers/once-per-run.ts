/**
 * Once in a synchronous run, which is at most what one read from each socket has brought: its requests were there before the run began,
 * and so were the commits that their senders know of. A turn of the event loop is too long: a socket that is read late in it may bring a
 * request that was sent after the turn began.
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
