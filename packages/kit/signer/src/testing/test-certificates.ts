import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A certificate and its private key, both as PEM. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, "hex"));
const bitString = (content: Uint8Array): Buffer => tlv(0x03, Buffer.from([0]), content);

const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
const COMMON_NAME = oid("550403");
const BASIC_CONSTRAINTS = oid("551d13");
const KEY_USAGE = oid("551d0f");
const ALTERNATIVE_NAMES = oid("551d11");

const nameOf = (commonName: string): Buffer =>
  sequence(tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, Buffer.from(commonName, "utf8")))));
/** GeneralizedTime, in seconds. */
const timeOf = (ms: number): Buffer =>
  tlv(0x18, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`, "ascii"));
const extension = (id: Buffer, value: Buffer, isCritical: boolean): Buffer =>
  sequence(id, ...(isCritical ? [tlv(0x01, Buffer.from([0xff]))] : []), tlv(0x04, value));
const pem = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der)
    .toString("base64")
    .match(/.{1,64}/g)!
    .join("\n")}\n-----END CERTIFICATE-----\n`;

/**
 * A certificate authority for tests, made when they run: Node.js makes keys but no certificates. X.509 v3 with P-256. The certificates
 * are for localhost and 127.0.0.1, as servers and as clients. Spec: https://www.rfc-editor.org/rfc/rfc5280#section-4.1
 */
export class TestAuthority {
  readonly cert: string;
  private readonly name: string;
  private readonly key: KeyObject;

  constructor(name = "test authority") {
    this.name = name;
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.key = privateKey;
    const isAuthority = extension(BASIC_CONSTRAINTS, sequence(tlv(0x01, Buffer.from([0xff]))), true);
    const signsCertificates = extension(KEY_USAGE, tlv(0x03, Buffer.from([2, 0b0000_0100])), true);
    this.cert = pem(this.certificate(name, publicKey, [isAuthority, signsCertificates], Date.now() + 3_600_000));
  }

  /** @param notAfterMs when it expires; default: in an hour */
  issue(commonName: string, notAfterMs = Date.now() + 3_600_000): IssuedCertificate {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const names = sequence(tlv(0x82, Buffer.from("localhost", "ascii")), tlv(0x87, Buffer.from([127, 0, 0, 1])));
    const der = this.certificate(commonName, publicKey, [extension(ALTERNATIVE_NAMES, names, false)], notAfterMs);
    return { cert: pem(der), key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
  }

  private certificate(subject: string, publicKey: KeyObject, extensions: readonly Buffer[], notAfterMs: number): Buffer {
    const body = sequence(
      tlv(0xa0, tlv(0x02, Buffer.from([2]))), // version 3
      tlv(0x02, Buffer.from([1]), randomBytes(15)), // serial number, above 0
      ECDSA_WITH_SHA256,
      nameOf(this.name),
      sequence(timeOf(Math.min(Date.now(), notAfterMs) - 3_600_000), timeOf(notAfterMs)),
      nameOf(subject),
      publicKey.export({ type: "spki", format: "der" }),
      tlv(0xa3, sequence(...extensions)),
    );
    return sequence(body, ECDSA_WITH_SHA256, bitString(sign("sha256", body, this.key)));
  }
}
