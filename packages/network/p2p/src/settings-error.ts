import { CodedError } from "@rnode/primitives";

/** A setting of the network, by the name of its option without `p2p.` in front. */
export type P2PSetting =
  | "advertise.ip"
  | "bootnodes"
  | "discovery.path"
  | "listen.ip"
  | "listen.tcp"
  | "listen.udp"
  | "netrestrict"
  | "peerstore.path"
  | "static";

/** An invalid setting that prevents the start: its name, the error and a valid value, in one line. */
export class P2PSettingError extends CodedError<"p2p/bad-setting"> {
  readonly setting: P2PSetting;

  constructor(setting: P2PSetting, text: string, options?: ErrorOptions) {
    super("p2p/bad-setting", { setting }, options);
    this.setting = setting;
    this.message = text;
  }
}
