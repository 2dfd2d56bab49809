import type { Store } from "./store.ts";

/** The page is drawn at most this often, however much arrives. */
const DRAW_MS = 250;
const EVENTS = ["expected", "program", "feed", "down"] as const;

/** Keeps the store up to date until it is ended; the browser connects again by itself. @returns ends it */
export function connect(store: Store, onChange: () => void): () => void {
  let timer: number | undefined;
  const changed = (): void => {
    timer ??= window.setTimeout(() => {
      timer = undefined;
      onChange();
    }, DRAW_MS);
  };
  const source = new EventSource("./feed");
  source.onopen = () => {
    store.isConnected = true;
    changed();
  };
  source.onerror = () => {
    store.isConnected = false;
    changed();
  };
  for (const name of EVENTS) {
    source.addEventListener(name, ({ data }) => {
      store.receive(name, data as string);
      changed();
    });
  }
  return () => {
    source.close();
    window.clearTimeout(timer);
  };
}
