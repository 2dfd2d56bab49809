// Translates a WebAssembly module without SIMD, tables and floating point to C, function by function. The memory of the module is
// a block of 2^SIZE_BITS bytes. Every address is taken modulo that size, so no access can leave the block (plus SLACK bytes after
// it, for accesses that start at its end). Imports of the module are C functions (field.h) that get the block as their first
// argument.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const asc = require.resolve("assemblyscript/dist/asc.js");
const binaryen = (await import(pathToFileURL(createRequire(asc).resolve("binaryen")))).default;

const s32 = (a) => `(int32_t)${a}`;
const s64 = (a) => `(int64_t)${a}`;

const BINARY = {
  AddInt32: (a, b) => `${a} + ${b}`,
  SubInt32: (a, b) => `${a} - ${b}`,
  MulInt32: (a, b) => `${a} * ${b}`,
  DivUInt32: (a, b) => `${a} / ${b}`,
  RemUInt32: (a, b) => `${a} % ${b}`,
  DivSInt32: (a, b) => `(uint32_t)(${s32(a)} / ${s32(b)})`,
  RemSInt32: (a, b) => `(uint32_t)(${s32(a)} % ${s32(b)})`,
  AndInt32: (a, b) => `${a} & ${b}`,
  OrInt32: (a, b) => `${a} | ${b}`,
  XorInt32: (a, b) => `${a} ^ ${b}`,
  ShlInt32: (a, b) => `${a} << (${b} & 31)`,
  ShrUInt32: (a, b) => `${a} >> (${b} & 31)`,
  ShrSInt32: (a, b) => `(uint32_t)(${s32(a)} >> (${b} & 31))`,
  RotLInt32: (a, b) => `${a} << (${b} & 31) | ${a} >> (-${b} & 31)`,
  RotRInt32: (a, b) => `${a} >> (${b} & 31) | ${a} << (-${b} & 31)`,
  EqInt32: (a, b) => `${a} == ${b}`,
  NeInt32: (a, b) => `${a} != ${b}`,
  LtSInt32: (a, b) => `${s32(a)} < ${s32(b)}`,
  LtUInt32: (a, b) => `${a} < ${b}`,
  LeSInt32: (a, b) => `${s32(a)} <= ${s32(b)}`,
  LeUInt32: (a, b) => `${a} <= ${b}`,
  GtSInt32: (a, b) => `${s32(a)} > ${s32(b)}`,
  GtUInt32: (a, b) => `${a} > ${b}`,
  GeSInt32: (a, b) => `${s32(a)} >= ${s32(b)}`,
  GeUInt32: (a, b) => `${a} >= ${b}`,
  AddInt64: (a, b) => `${a} + ${b}`,
  SubInt64: (a, b) => `${a} - ${b}`,
  MulInt64: (a, b) => `${a} * ${b}`,
  DivUInt64: (a, b) => `${a} / ${b}`,
  RemUInt64: (a, b) => `${a} % ${b}`,
  AndInt64: (a, b) => `${a} & ${b}`,
  OrInt64: (a, b) => `${a} | ${b}`,
  XorInt64: (a, b) => `${a} ^ ${b}`,
  ShlInt64: (a, b) => `${a} << (${b} & 63)`,
  ShrUInt64: (a, b) => `${a} >> (${b} & 63)`,
  ShrSInt64: (a, b) => `(uint64_t)(${s64(a)} >> (${b} & 63))`,
  RotLInt64: (a, b) => `${a} << (${b} & 63) | ${a} >> (-${b} & 63)`,
  RotRInt64: (a, b) => `${a} >> (${b} & 63) | ${a} << (-${b} & 63)`,
  EqInt64: (a, b) => `${a} == ${b}`,
  NeInt64: (a, b) => `${a} != ${b}`,
  LtSInt64: (a, b) => `${s64(a)} < ${s64(b)}`,
  LtUInt64: (a, b) => `${a} < ${b}`,
  LeSInt64: (a, b) => `${s64(a)} <= ${s64(b)}`,
  LeUInt64: (a, b) => `${a} <= ${b}`,
  GtSInt64: (a, b) => `${s64(a)} > ${s64(b)}`,
  GtUInt64: (a, b) => `${a} > ${b}`,
  GeSInt64: (a, b) => `${s64(a)} >= ${s64(b)}`,
  GeUInt64: (a, b) => `${a} >= ${b}`,
};
const UNARY = {
  EqZInt32: (a) => `${a} == 0`,
  EqZInt64: (a) => `${a} == 0`,
  ClzInt32: (a) => `${a} == 0 ? 32 : (uint32_t)__builtin_clz(${a})`,
  CtzInt32: (a) => `${a} == 0 ? 32 : (uint32_t)__builtin_ctz(${a})`,
  ClzInt64: (a) => `${a} == 0 ? 64 : (uint64_t)__builtin_clzll(${a})`,
  CtzInt64: (a) => `${a} == 0 ? 64 : (uint64_t)__builtin_ctzll(${a})`,
  WrapInt64: (a) => `(uint32_t)${a}`,
  ExtendUInt32: (a) => `(uint64_t)${a}`,
  ExtendSInt32: (a) => `(uint64_t)(int64_t)(int32_t)${a}`,
  ExtendS8Int32: (a) => `(uint32_t)(int32_t)(int8_t)${a}`,
  ExtendS16Int32: (a) => `(uint32_t)(int32_t)(int16_t)${a}`,
  ExtendS32Int64: (a) => `(uint64_t)(int64_t)(int32_t)${a}`,
};
const byNumber = (table) => new Map(Object.entries(table).map(([name, text]) => [binaryen[name], text]));
const BINARY_BY_NUMBER = byNumber(BINARY);
const UNARY_BY_NUMBER = byNumber(UNARY);

const TYPES = new Map([
  [binaryen.i32, "uint32_t"],
  [binaryen.i64, "uint64_t"],
  [binaryen.none, "void"],
  [binaryen.unreachable, "void"],
]);
function typeOf(type) {
  const name = TYPES.get(type);
  if (name === undefined) throw new Error(`no C type for WebAssembly type ${type}`);
  return name;
}

/**
 * Statements of one function. Every value gets its own variable, in the order of evaluation; the C compiler removes unneeded
 * ones.
 */
class FunctionBody {
  lines = [];
  #variables = 0;
  #labels = new Map();
  #module;

  constructor(module) {
    this.#module = module;
  }

  #name(prefix) {
    return `${prefix}${this.#variables++}`;
  }

  #value(type, expression) {
    const name = this.#name("v");
    this.lines.push(`const ${typeOf(type)} ${name} = ${expression};`);
    return name;
  }

  /** A variable that several branches assign to. */
  #result(type) {
    if (type === binaryen.none || type === binaryen.unreachable) return undefined;
    const name = this.#name("r");
    this.lines.push(`${typeOf(type)} ${name} = 0;`);
    return name;
  }

  #labelled(name, result, emit) {
    const label = { c: this.#name("label"), result, isUsed: false };
    const before = this.#labels.get(name);
    if (name) this.#labels.set(name, label);
    emit(label);
    if (name) this.#labels.set(name, before);
    return label;
  }

  #assign(result, value) {
    if (result !== undefined && value !== undefined) this.lines.push(`${result} = ${value};`);
  }

  /** @returns the variable or constant with the value; `undefined` if there is none */
  emit(pointer) {
    const e = binaryen.getExpressionInfo(pointer);
    switch (e.id) {
      case binaryen.NopId:
        return undefined;
      case binaryen.ConstId:
        return e.type === binaryen.i64 ? constant64(e.value) : `${e.value >>> 0}u`;
      case binaryen.LocalGetId:
        return this.#value(e.type, `l${e.index}`);
      case binaryen.LocalSetId: {
        this.lines.push(`l${e.index} = ${this.emit(e.value)};`);
        return e.isTee ? this.#value(e.type, `l${e.index}`) : undefined;
      }
      case binaryen.GlobalGetId:
        return this.#value(e.type, this.#module.global(e.name));
      case binaryen.GlobalSetId:
        this.lines.push(`${this.#module.global(e.name)} = ${this.emit(e.value)};`);
        return undefined;
      case binaryen.UnaryId:
        return this.#value(e.type, this.#operation(UNARY_BY_NUMBER, e.op)(this.emit(e.value)));
      case binaryen.BinaryId: {
        const left = this.emit(e.left);
        return this.#value(e.type, this.#operation(BINARY_BY_NUMBER, e.op)(left, this.emit(e.right)));
      }
      case binaryen.SelectId: {
        const yes = this.emit(e.ifTrue);
        const no = this.emit(e.ifFalse);
        return this.#value(e.type, `${this.emit(e.condition)} ? ${yes} : ${no}`);
      }
      case binaryen.LoadId: {
        const from = this.emit(e.ptr);
        return this.#value(e.type, `load_${accessType(e)}(M, ${from} + ${e.offset}u)`);
      }
      case binaryen.StoreId: {
        const to = this.emit(e.ptr);
        this.lines.push(`store_u${8 * e.bytes}(M, ${to} + ${e.offset}u, ${this.emit(e.value)});`);
        return undefined;
      }
      case binaryen.MemoryCopyId: {
        const [to, from, length] = [e.dest, e.source, e.size].map((part) => this.emit(part));
        this.lines.push(`copy_bytes(M, ${to}, ${from}, ${length});`);
        return undefined;
      }
      case binaryen.MemoryFillId: {
        const [to, value, length] = [e.dest, e.value, e.size].map((part) => this.emit(part));
        this.lines.push(`fill_bytes(M, ${to}, ${value}, ${length});`);
        return undefined;
      }
      case binaryen.MemorySizeId:
        return `${this.#module.pages}u`;
      case binaryen.MemoryGrowId:
        this.emit(e.delta);
        return "0xffffffffu";
      case binaryen.DropId:
        this.emit(e.value);
        return undefined;
      case binaryen.ReturnId: {
        const value = e.value ? this.emit(e.value) : "";
        this.lines.push(`return ${value};`);
        return undefined;
      }
      case binaryen.UnreachableId:
        this.lines.push("__builtin_trap();");
        return undefined;
      case binaryen.CallId: {
        const values = e.operands.map((operand) => this.emit(operand));
        const call = `${this.#module.functionName(e.target)}(${["M", ...values].join(", ")})`;
        if (e.type === binaryen.none || e.type === binaryen.unreachable) {
          this.lines.push(`${call};`);
          return undefined;
        }
        return this.#value(e.type, call);
      }
      case binaryen.IfId: {
        const condition = this.emit(e.condition);
        const result = this.#result(e.type);
        this.lines.push(`if (${condition}) {`);
        this.#assign(result, this.emit(e.ifTrue));
        if (e.ifFalse) {
          this.lines.push("} else {");
          this.#assign(result, this.emit(e.ifFalse));
        }
        this.lines.push("}");
        return result;
      }
      case binaryen.BlockId: {
        const result = this.#result(e.type);
        const { c, isUsed } = this.#labelled(e.name, result, () => {
          this.lines.push("{");
          let last;
          for (const child of e.children) last = this.emit(child);
          this.#assign(result, last);
          this.lines.push("}");
        });
        if (isUsed) this.lines.push(`${c}:;`);
        return result;
      }
      case binaryen.LoopId: {
        const result = this.#result(e.type);
        this.#labelled(e.name, undefined, ({ c }) => {
          this.lines.push(`${c}: __attribute__((unused));`, "{");
          this.#assign(result, this.emit(e.body));
          this.lines.push("}");
        });
        return result;
      }
      case binaryen.BreakId: {
        const label = this.#labels.get(e.name);
        const value = e.value ? this.emit(e.value) : undefined;
        const condition = e.condition ? this.emit(e.condition) : undefined;
        label.isUsed = true;
        if (condition !== undefined) this.lines.push(`if (${condition}) {`);
        this.#assign(label.result, value);
        this.lines.push(`goto ${label.c};`);
        if (condition !== undefined) this.lines.push("}");
        return value;
      }
      case binaryen.SwitchId: {
        const condition = this.emit(e.condition);
        this.lines.push(`switch (${condition}) {`);
        const jump = (name) => {
          const label = this.#labels.get(name);
          label.isUsed = true;
          return `goto ${label.c};`;
        };
        for (const [index, name] of e.names.entries()) this.lines.push(`case ${index}: ${jump(name)}`);
        this.lines.push(`default: ${jump(e.defaultName)}`, "}");
        return undefined;
      }
      default:
        throw new Error(`no translation of expression ${e.id}`);
    }
  }

  #operation(table, op) {
    const text = table.get(op);
    if (text === undefined) throw new Error(`no translation of operation ${op}`);
    return text;
  }
}

function constant64(value) {
  const bits = typeof value === "bigint" ? BigInt.asUintN(64, value) : (BigInt(value.high >>> 0) << 32n) | BigInt(value.low >>> 0);
  return `${bits}ull`;
}

function accessType({ bytes, isSigned, type }) {
  const full = type === binaryen.i64 ? 8 : 4;
  return bytes === full ? `u${8 * bytes}` : `${isSigned ? "s" : "u"}${8 * bytes}_${type === binaryen.i64 ? 64 : 32}`;
}

class ModuleToC {
  #module;
  #prefix;
  #globals = new Map();
  #functions = new Map();

  constructor(bytes, prefix, sizeBits) {
    this.#module = binaryen.readBinary(bytes);
    this.#prefix = prefix;
    this.pages = (1 << sizeBits) >>> 16;
  }

  /** Global variables of the module are stored after its memory. */
  global(name) {
    const { type, at } = this.#globals.get(name);
    return `(*(${type}*)(M + GLOBALS + ${at}))`;
  }

  functionName(name) {
    return this.#functions.get(name);
  }

  translate() {
    const module = this.#module;
    const lines = [];
    const initial = [];
    for (let i = 0; i < module.getNumGlobals(); i++) {
      const { name, type, init, base } = binaryen.getGlobalInfo(module.getGlobalByIndex(i));
      if (base) throw new Error(`global ${base} is imported`);
      const at = 8 * this.#globals.size;
      this.#globals.set(name, { type: typeOf(type), at });
      const value = binaryen.getExpressionInfo(init);
      initial.push(
        `*(${typeOf(type)}*)(M + GLOBALS + ${at}) = ${type === binaryen.i64 ? constant64(value.value) : `${value.value >>> 0}u`};`,
      );
    }
    const infos = [];
    for (let i = 0; i < module.getNumFunctions(); i++) {
      const info = binaryen.getFunctionInfo(module.getFunctionByIndex(i));
      this.#functions.set(info.name, info.base ? info.base : `${this.#prefix}_f${i}`);
      if (!info.base) infos.push(info);
    }
    const signature = ({ name, params, results }) => {
      const types = binaryen.expandType(params).map(typeOf);
      const list = ["uint8_t *const M", ...types.map((type, i) => `${type} l${i}`)].join(", ");
      return `static ${typeOf(results)} ${this.functionName(name)}(${list})`;
    };
    for (const info of infos) lines.push(`${signature(info)};`);
    for (const info of infos) {
      const parameters = binaryen.expandType(info.params).length;
      const body = new FunctionBody(this);
      const value = body.emit(info.body);
      lines.push(`${signature(info)} {`);
      for (const [i, type] of info.vars.entries()) lines.push(`${typeOf(type)} l${parameters + i} = 0;`);
      lines.push(...body.lines);
      if (info.results !== binaryen.none) lines.push(value === undefined ? "__builtin_unreachable();" : `return ${value};`);
      lines.push("}");
    }
    const exports = [];
    for (let i = 0; i < module.getNumExports(); i++) {
      const { kind, name, value } = binaryen.getExportInfo(module.getExportByIndex(i));
      if (kind !== binaryen.ExternalFunction) continue;
      const info = binaryen.getFunctionInfo(module.getFunction(value));
      exports.push({
        name,
        parameters: binaryen.expandType(info.params).map(typeOf),
        result: typeOf(info.results),
        c: this.functionName(value),
      });
    }
    const data = [];
    for (const [index, segment] of segments(module).entries()) {
      lines.push(`static const uint8_t ${this.#prefix}_data${index}[] = {${[...segment.data].join(",")}};`);
      data.push(`memcpy(M + ${segment.offset}, ${this.#prefix}_data${index}, ${segment.data.length});`);
    }
    const start = module.getStart();
    lines.push(`static void ${this.#prefix}_initialise(uint8_t *const M) {`, ...initial, ...data);
    if (start) lines.push(`${this.functionName(binaryen.getFunctionInfo(start).name)}(M);`);
    lines.push("}");
    return { text: `${lines.join("\n")}\n`, exports };
  }
}

function segments(module) {
  return Array.from({ length: module.getNumDataSegments() }, (_, i) => {
    const { offset, data } = module.getDataSegmentInfo(module.getDataSegmentByIndex(i));
    return { offset: typeof offset === "number" ? offset : offset.low, data: new Uint8Array(data) };
  });
}

/**
 * @param prefix of the C functions
 * @returns C text, with a function `${prefix}_initialise(M)` that fills fresh memory, and the exported functions
 */
export function wasmToC(bytes, prefix, sizeBits) {
  return new ModuleToC(bytes, prefix, sizeBits).translate();
}
