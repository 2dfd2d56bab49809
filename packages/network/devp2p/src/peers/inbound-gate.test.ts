import { describe, expect, it } from "vitest";
import { InboundGate, type InboundPlace } from "./inbound-gate.ts";

class Connections {
  nowMs = 0;
  readonly gate = new InboundGate({ unixMs: () => this.nowMs, monotonicMs: () => this.nowMs, sleep: () => Promise.resolve() });
  readonly dropped: string[] = [];
  #last = 0;

  admit(ip: string): InboundPlace | undefined {
    return this.gate.admit(ip, () => this.dropped.push(ip));
  }

  /** of another address each time */
  admitMany(count: number): (InboundPlace | undefined)[] {
    return Array.from({ length: count }, () =>
      this.admit(`10.${++this.#last >> 16}.${(this.#last >> 8) & 255}.${this.#last & 255}`),
    );
  }
}

describe("the gate for inbound connections", () => {
  it("lets who speaks in while silent ones of ever other addresses come, and drops the oldest of those", () => {
    const connections = new Connections();
    expect(connections.admitMany(512)).not.toContain(undefined);
    const newcomer = connections.admit("192.0.2.1")!;
    expect(connections.dropped).toEqual(["10.0.0.1"]);
    connections.admitMany(511);
    expect(newcomer.heard()).toBe(true);
    connections.admitMany(600);
    expect(connections.dropped).not.toContain("192.0.2.1");
  });

  it("answers no more handshakes at a time, nor in a second, than it may", () => {
    const connections = new Connections();
    const first = connections.admitMany(40) as InboundPlace[];
    expect(first.map(({ heard }) => heard()).filter(Boolean).length).toBe(32);
    for (const { introduced } of first) introduced();
    const more = connections.admitMany(40) as InboundPlace[];
    expect(more.map(({ heard, introduced }) => [heard(), introduced()][0]).filter(Boolean).length).toBe(28); // 60 at once
    connections.nowMs += 500;
    const later = connections.admitMany(40) as InboundPlace[];
    expect(later.map(({ heard, introduced }) => [heard(), introduced()][0]).filter(Boolean).length).toBe(15);
  });

  it("has eight places for an address, which its connections give back when they end", () => {
    const connections = new Connections();
    const places = Array.from({ length: 9 }, () => connections.admit("192.0.2.1"));
    expect(places.filter((place) => place !== undefined).length).toBe(8);
    places[0]!.ended();
    places[0]!.ended();
    expect(connections.admit("192.0.2.1")).toBeDefined();
    connections.nowMs += 10_000;
    expect(connections.admit("192.0.2.1")).toBeUndefined();
  });

  it("does not answer a connection that was dropped", () => {
    const connections = new Connections();
    const [oldest] = connections.admitMany(513);
    expect(oldest!.heard()).toBe(false);
  });
});
