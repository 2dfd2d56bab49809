import { bool, listenAddress, listOf, type OptionsOf, optionGroup, port, text } from "@rnode/program";

/** @param defaultPort another one for each program, so that they can run on one machine */
export const dashboardOptions = (defaultPort: number) =>
  optionGroup("dashboard", {
    enabled: {
      parse: bool,
      flag: "dashboard",
      default: false,
      help: "Serve a page that shows this program at work: --dashboard.addr, --dashboard.port.",
    },
    addr: {
      parse: listenAddress,
      default: "127.0.0.1",
      needs: "dashboard",
      help: "Address the dashboard listens on. Whoever reaches it can read it: it asks for no password.",
    },
    port: { parse: port, default: defaultPort, needs: "dashboard", help: "Port of the dashboard. 0: any free one." },
    vhosts: {
      parse: listOf(text),
      default: ["localhost"],
      needs: "dashboard",
      help: "Names accepted in the Host header, besides addresses; * is all.",
    },
  });

export type DashboardOptions = OptionsOf<ReturnType<typeof dashboardOptions>>;
