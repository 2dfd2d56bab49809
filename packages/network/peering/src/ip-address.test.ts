import { describe, expect, it } from "vitest";
import { canonicalIp, isRelayable, parseIp, parseSubnet, subnetContains } from "./ip-address.ts";

describe("IP addresses", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["0:0:0:0:0:FFFF:192.0.2.1", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8::", "2001:db8::"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["1:0:0:2:0:0:0:3", "1:0:0:2::3"],
    ["::", "::"],
    ["::1", "::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
  ])("%s is %s", (text, canonical) => expect(canonicalIp(text)).toBe(canonical));

  it.each(["", "192.0.2", "192.0.2.256", "192.0.2.1/32", "2001:db8:::1", "example.org", "0300.0.0.1"])("%j is none", (text) =>
    expect(canonicalIp(text)).toBeUndefined(),
  );
});

describe("networks", () => {
  it.each([
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["192.0.2.255/25", "192.0.2.128/25"],
    ["::ffff:10.1.2.3/104", "10.0.0.0/8"],
    ["2001:db8:ffff::/33", "2001:db8:8000::/33"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["::/0", "::/0"],
  ])("%s is %s", (text, canonical) => expect(parseSubnet(text)?.text).toBe(canonical));

  it.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "/8", "2001:db8::/129", "::ffff:10.0.0.0/95", "10.0.0/8"])(
    "%j is none",
    (text) => expect(parseSubnet(text)).toBeUndefined(),
  );

  it.each([
    ["10.0.0.0/8", "10.255.0.1", true],
    ["10.0.0.0/8", "::ffff:10.255.0.1", true],
    ["10.0.0.0/8", "11.0.0.1", false],
    ["192.0.2.128/25", "192.0.2.127", false],
    ["192.0.2.128/25", "192.0.2.128", true],
    ["2001:db8::/32", "2001:db8:1::1", true],
    ["2001:db8::/32", "2001:db9::1", false],
    ["::/0", "192.0.2.1", false],
    ["0.0.0.0/0", "2001:db8::1", false],
  ])("%s and %s: %s", (subnet, ip, isIn) => expect(subnetContains(parseSubnet(subnet)!, parseIp(ip)!)).toBe(isIn));
});

describe("addresses that a node names", () => {
  const PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1", "172.32.0.1", "11.0.0.1", "198.20.0.1"];
  const PRIVATE = ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd00::1"];
  const LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"];
  const NEVER = [
    ...["0.0.0.0", "0.1.2.3", "169.254.169.254", "224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "192.0.2.1"],
    ...["198.18.0.1", "203.0.113.1", "::", "fe80::1", "ff02::1", "2001:db8::1", "::ffff:224.0.0.1", "example.org", ""],
  ];
  const cases = [
    ...PUBLIC.flatMap((told) => [...PUBLIC, ...PRIVATE, ...LOOPBACK].map((teller) => [told, teller, true] as const)),
    ...PRIVATE.flatMap((told) => PUBLIC.map((teller) => [told, teller, false] as const)),
    ...PRIVATE.flatMap((told) => PRIVATE.map((teller) => [told, teller, true] as const)),
    ...LOOPBACK.flatMap((told) => [...PUBLIC, ...PRIVATE].map((teller) => [told, teller, false] as const)),
    ...LOOPBACK.flatMap((told) => LOOPBACK.map((teller) => [told, teller, true] as const)),
    ...NEVER.flatMap((told) => [...PUBLIC, ...PRIVATE, ...LOOPBACK].map((teller) => [told, teller, false] as const)),
  ];
  it.each(cases)("%s, named by %s: %s", (told, teller, expected) => expect(isRelayable(told, teller)).toBe(expected));
});
