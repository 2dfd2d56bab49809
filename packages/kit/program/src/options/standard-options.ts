import { levelName } from "@rnode/observe";
import { optionGroup } from "./option-group.ts";
import { bool, duration, listenAddress, listOf, oneOf, type Parser, path, port, text } from "./parsers.ts";
import { NOT_IN_JAVASCRIPT, PROFILE_TYPES, type ProfileType } from "./profile-types.ts";

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
  format: levelName,
};

/** The same in every program; `createLogger` of `@rnode/observe` takes the values unchanged. */
export const logOptions = optionGroup("log", {
  level: { parse: logLevel, default: "info", help: "Lowest level that is written." },
  format: { parse: oneOf("text", "terminal", "logfmt", "json", "json-pretty"), default: "text", help: "Format of log lines." },
  color: { parse: bool, default: false, help: "Colour in terminal lines." },
  pid: { parse: bool, default: false, help: "Add the process id to each line." },
});

/** Ports are the rollup node's; other programs have others, so that all run on one machine (`withDefaults`). */
export const metricsOptions = optionGroup("metrics", {
  enabled: { parse: bool, default: false, help: "Serve metrics for Prometheus at /metrics." },
  addr: { parse: listenAddress, default: "0.0.0.0", needs: "metrics.enabled", help: "Address the metrics server listens on." },
  port: { parse: port, default: 7300, needs: "metrics.enabled", help: "Port of the metrics server." },
  vhosts: {
    parse: listOf(text),
    default: ["localhost"],
    needs: "metrics.enabled",
    help: "Names accepted in the Host header, besides addresses and names without public DNS (node-1, .internal, .local); * is all.",
  },
});

/** Profiles for `go tool pprof`, of the program's main thread: over HTTP, and one from the start to the end in a file. */
export const pprofOptions = optionGroup("pprof", {
  enabled: { parse: bool, default: false, help: "Serve profiles for go tool pprof at /debug/pprof/." },
  addr: { parse: listenAddress, default: "0.0.0.0", needs: "pprof.enabled", help: "Address the profile server listens on." },
  port: { parse: port, default: 6060, needs: "pprof.enabled", help: "Port of the profile server." },
  vhosts: {
    parse: listOf(text),
    default: ["localhost"],
    needs: "pprof.enabled",
    help: "Names accepted in the Host header, besides addresses; * is all.",
  },
  path: {
    parse: path,
    needs: "pprof.type",
    help: "File for the profile of --pprof.type, or a folder, in which it is TYPE.prof. Default: the working directory.",
  },
  type: {
    parse: oneOf(...PROFILE_TYPES),
    check: (type: ProfileType) => NOT_IN_JAVASCRIPT[type] && `"${type}" is not there: ${NOT_IN_JAVASCRIPT[type]}`,
    help: "Write a profile of this kind, from start to end, when the program ends. threadcreate, block and mutex are refused: JavaScript has nothing like them.",
  },
});

/** Of programs behind a load balancer. */
export const shutdownOptions = optionGroup("shutdown", {
  delayMs: {
    parse: duration,
    flag: "shutdown.delay",
    default: 0,
    help: "After a stop signal, serve for this long, with /readyz at 503, before closing: longer than a load balancer takes to notice. A second signal ends the program at once.",
  },
});

/** For the group of a JSON-RPC server with this name: web pages that may call it, and its own host names. */
export const browserOptions = (group: string) =>
  ({
    cors: {
      parse: listOf(text),
      flag: `${group}.corsdomain`,
      default: [],
      help: "Origins that browsers may call from; * is all, local is this machine and browser extensions. Requests from others are refused.",
    },
    vhosts: {
      parse: listOf(text),
      default: ["localhost"],
      help: "Names accepted in the Host header, besides addresses; * is all.",
    },
  }) as const;
