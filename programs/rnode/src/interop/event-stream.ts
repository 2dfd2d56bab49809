import type { ManagedEvent } from "./managed-event.ts";

export type EventSink = (event: ManagedEvent) => void;

/** So many events wait while nobody is subscribed; then the oldest are dropped. */
const MAX_WAITING = 100;

/**
 * The events for the supervisor: to the subscriber, or kept for `pull` and for whoever subscribes next. There is one subscriber: a new one
 * takes over from the one before, because a supervisor that was restarted must not wait until its old connection is found to be dead, and
 * two supervisors must not both believe that they lead this node.
 */
export class EventStream {
  private waiting: ManagedEvent[] = [];
  private sink: EventSink | undefined;
  private readonly onDropped: () => void;

  constructor(onDropped: () => void) {
    this.onDropped = onDropped;
  }

  get isSubscribed(): boolean {
    return this.sink !== undefined;
  }

  /** Never waits: how much a slow subscriber may leave unread is its connection's limit. */
  send(event: ManagedEvent): void {
    if (this.sink !== undefined) {
      this.sink(event);
      return;
    }
    this.waiting.push(event);
    if (this.waiting.length <= MAX_WAITING) return;
    this.waiting.shift();
    this.onDropped();
  }

  /** The oldest event that waits; undefined: there is none. */
  pull(): ManagedEvent | undefined {
    return this.waiting.shift();
  }

  /** Events go to `sink` from now on, those that wait first. @returns ends that, unless another subscriber has taken over */
  subscribe(sink: EventSink): () => void {
    this.sink = sink;
    const { waiting } = this;
    this.waiting = [];
    for (const event of waiting) sink(event);
    return () => {
      if (this.sink === sink) this.sink = undefined;
    };
  }
}
