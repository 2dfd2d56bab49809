import { describe, expect, it } from "vitest";
import { readPlainHead } from "./plain-head.ts";

const PLAIN = "POST / HTTP/1.1\r\nHost: node:8545\r\nContent-Type: application/json\r\nContent-Length: 12\r\n";

describe("readPlainHead", () => {
  it.each([
    ["what every client sends", `${PLAIN}\r\n`],
    ["fields that change nothing", `${PLAIN}accept: */*\r\nuser-agent: x\r\nX-Forwarded-For: 10.0.0.1\r\nempty:\r\n\r\n`],
    ["a connection that stays", `${PLAIN}connection: Keep-Alive\r\n\r\n`],
    ["a charset", `${PLAIN.replace("json", "json; charset=utf-8")}\r\n`],
    ["no space after the colon", `${PLAIN.replaceAll(": ", ":")}\r\n`],
  ])("reads %s", (_, head) => {
    expect(readPlainHead(head)).toEqual({ host: "node:8545", bodyBytes: 12, minBlock: undefined });
  });

  it("reads the newest block that the client has seen", () => {
    expect(readPlainHead(`${PLAIN}Rnode-Min-Block: 17\r\n\r\n`)?.minBlock).toBe(17);
  });

  it.each([
    ["another method", PLAIN.replace("POST", "PUT")],
    ["another path", PLAIN.replace("/ ", "/x ")],
    ["another version", PLAIN.replace("1.1", "1.0")],
    ["another type", PLAIN.replace("json", "jsonx")],
    ["no type", PLAIN.replace("Content-Type", "X")],
    ["no host", PLAIN.replace("Host", "X")],
    ["two hosts", `${PLAIN}host: other\r\n`],
    ["no length", PLAIN.replace("Content-Length", "X")],
    ["two lengths", `${PLAIN}content-length: 12\r\n`],
    ["a length with a sign", PLAIN.replace("12", "+12")],
    ["a length in hex", PLAIN.replace("12", "0xc")],
    ["a list of lengths", PLAIN.replace("12", "12, 12")],
    ["a length with a space", PLAIN.replace("12", "1 2")],
    ["chunks", `${PLAIN}Transfer-Encoding: chunked\r\n`],
    ["an expectation", `${PLAIN}Expect: 100-continue\r\n`],
    ["an upgrade", `${PLAIN}Upgrade: h2c\r\n`],
    ["the last request", `${PLAIN}Connection: close\r\n`],
    ["a browser's request", `${PLAIN}Origin: https://app.example\r\n`],
    ["a folded field", `${PLAIN}a: b\r\n c\r\n`],
    ["a space before the colon", PLAIN.replace("Length:", "Length :")],
    ["a line end without a carriage return", PLAIN.replace("8545\r\n", "8545\n")],
    ["a carriage return alone", `${PLAIN}a: b\rc\r\n`],
    ["two newest blocks", `${PLAIN}rnode-min-block: 1\r\nrnode-min-block: 1\r\n`],
    ["a newest block that is no number", `${PLAIN}rnode-min-block: latest\r\n`],
    ["a NUL", `${PLAIN}a: b\0\r\n`],
    ["a byte beyond ASCII", `${PLAIN}a: \u00e9\r\n`],
    ["a field without a colon", `${PLAIN}abc\r\n`],
    ["a field without a name", `${PLAIN}: abc\r\n`],
  ])("leaves %s to others", (_, head) => {
    expect(readPlainHead(`${head}\r\n`)).toBeUndefined();
  });
});
