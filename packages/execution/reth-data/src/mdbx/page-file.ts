import { LruCache } from "@rnode/primitives";
import { atPlace, damaged, Malformed, RethDataError } from "../errors.ts";
import { u16, u32, u64 } from "../files/little-endian.ts";
import { ReadFile } from "../files/read-file.ts";
import { FORMAT, formatOf, META_BYTES, META_PAGES, type Meta, readMeta } from "./meta.ts";
import { PAGE_HEADER_BYTES, Page, PageFlag } from "./page.ts";

/** Page sizes that libmdbx knows. */
const PAGE_SIZES = [256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
/** Branch pages kept for lookups. */
const CACHE_BYTES = 1 << 20;
/** Far above the largest value of the tables that are read: the code of a contract. */
const MAX_VALUE_BYTES = 4 << 20;

/** The pages of `mdbx.dat` as of its newest flushed commit. */
export class PageFile {
  readonly meta: Meta;
  readonly #file: ReadFile;
  readonly #metasAtOpen: string;
  readonly #branches: LruCache<number, Page>;

  /** @throws {RethDataError} reth-data/damaged, reth-data/unknown-version, reth-data/unreadable */
  constructor(path: string) {
    this.#file = new ReadFile(path);
    try {
      this.meta = this.#newestMeta();
      const { endPage, pageBytes } = this.meta;
      if (endPage * pageBytes > this.#file.sizeBytes) {
        throw damaged(path, "its end", `it has ${this.#file.sizeBytes} bytes and should have at least ${endPage * pageBytes}`);
      }
      this.#metasAtOpen = this.#readMetas(this.meta.pageBytes).join();
      this.#branches = new LruCache(Math.ceil(CACHE_BYTES / this.meta.pageBytes));
    } catch (error) {
      this.#file.close();
      throw error;
    }
  }

  get path(): string {
    return this.#file.path;
  }

  /** Whether no commit was written since the file was opened. */
  isUnchanged(): boolean {
    return this.#readMetas(this.meta.pageBytes).join() === this.#metasAtOpen;
  }

  /** @throws {RethDataError} reth-data/damaged */
  page(number: number): Page {
    return atPlace(this.path, `page ${number}`, () => new Page(this.#readPage(number, 1, this.meta.pageBytes), "page"));
  }

  /** The same, for lookups, which meet the upper branches again and again. */
  cachedPage(number: number): Page {
    const cached = this.#branches.get(number);
    if (cached !== undefined) return cached;
    const page = this.page(number);
    if (page.isBranch) this.#branches.set(number, page);
    return page;
  }

  /** A value that has pages of its own, the first of which has a header. @throws {RethDataError} reth-data/damaged */
  largeValue(number: number, length: number): Uint8Array {
    return atPlace(this.path, `page ${number}`, () => {
      if (length > MAX_VALUE_BYTES) throw new Malformed(`a value of ${length} bytes`);
      const pages = Math.ceil((PAGE_HEADER_BYTES + length) / this.meta.pageBytes);
      const bytes = this.#readPage(number, pages, PAGE_HEADER_BYTES + length);
      if (u16(bytes, 10) !== PageFlag.large) throw new Malformed(`a large value on a page with flags ${u16(bytes, 10)}`);
      if (u32(bytes, 12) < pages) throw new Malformed(`a value of ${length} bytes on ${u32(bytes, 12)} pages`);
      return bytes.subarray(PAGE_HEADER_BYTES);
    });
  }

  close(): void {
    this.#file.close();
  }

  #readPage(number: number, pages: number, size: number): Uint8Array {
    if (number < META_PAGES || number + pages > this.meta.endPage) throw new Malformed("the page number is out of range");
    const bytes = this.#file.read(number * this.meta.pageBytes, size);
    if (bytes.length < size) throw new Malformed("the file ends before the page does");
    if (u32(bytes, 16) !== number) throw new Malformed(`the page says that it is page ${u32(bytes, 16)}`);
    if (u64(bytes, 0) > this.meta.txnid) throw new Malformed("the page was written after the commit that is read");
    return bytes;
  }

  #readMetas(pageBytes: number): Uint8Array[] {
    return Array.from({ length: META_PAGES }, (_, i) => this.#file.read(i * pageBytes, META_BYTES));
  }

  #newestMeta(): Meta {
    const metas = PAGE_SIZES.flatMap((pageBytes) =>
      this.#readMetas(pageBytes).flatMap((bytes) => readMeta(bytes, pageBytes) ?? []),
    );
    const [newest] = metas.sort((a, b) => b.txnid - a.txnid);
    if (newest !== undefined) return newest;
    const format = formatOf(this.#file.read(0, META_BYTES));
    if (format === undefined || format === FORMAT) {
      throw damaged(this.path, "its meta pages", "none of the three has a flushed commit");
    }
    throw new RethDataError("reth-data/unknown-version", { what: `the format of ${this.path}`, found: format, known: FORMAT });
  }
}
