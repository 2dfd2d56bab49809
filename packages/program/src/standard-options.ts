import { bool, listOf, oneOf, optionGroup, type Parser, port, text } from "@rnode/options";

const LEVELS = ["silent", "error", "warn", "info", "debug", "trace"] as const;

/**
 * A level's name in any case, or its number. `detail` is the documented name of the finest level, `trace` the usual one
 * elsewhere.
 */
const logLevel: Parser<(typeof LEVELS)[number]> = {
  placeholder: "level",
  expects: "one of silent, error, warn, info, debug, detail, or a number from 0 to 5",
  parse: (value) => {
    const name = value.toLowerCase();
    if (/^[0-5]$/.test(name)) return LEVELS[Number(name)];
    return name === "detail" ? "trace" : LEVELS.find((level) => level === name);
  },
  format: (level) => (level === "trace" ? "detail" : level),
};

/** The same in every program; `createLogger` of `@rnode/observe` takes the values unchanged. */
export const logOptions = optionGroup("log", {
  level: { parse: logLevel, default: "info", help: "Lowest level that is written." },
  format: { parse: oneOf("text", "terminal", "logfmt", "json", "json-pretty"), default: "text", help: "Format of log lines." },
  color: { parse: bool, default: false, help: "Colour in terminal lines." },
  pid: { parse: bool, default: false, help: "Add the process id to each line." },
});

export const metricsOptions = optionGroup("metrics", {
  enabled: { parse: bool, default: false, help: "Serve metrics for Prometheus at /metrics." },
  addr: { parse: text, default: "0.0.0.0", needs: "metrics.enabled", help: "Address the metrics server listens on." },
  port: { parse: port, default: 7300, needs: "metrics.enabled", help: "Port of the metrics server." },
});

/** For the group of a JSON-RPC server, of this name: which pages, and which names of its own, browsers may reach it with. */
export const browserOptions = (group: string) =>
  ({
    cors: {
      parse: listOf(text),
      flag: `${group}.corsdomain`,
      default: [],
      help: "Origins that browsers may call from; * is all. Requests from others are refused.",
    },
    vhosts: {
      parse: listOf(text),
      default: ["localhost"],
      help: "Names accepted in the Host header, besides addresses; * is all.",
    },
  }) as const;
