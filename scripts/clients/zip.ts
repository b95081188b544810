// Writes a zip file without compression: the same files make the same bytes.

/** 1 January 1980, the first time that the format knows: two builds are the same. */
const DATE = 0x21;
const VERSION = 20;
/** Name and content are UTF-8. */
const FLAGS = 0x800;
/** A regular file that all may read. */
const MODE = 0o100644;

export const packZip = (files: Readonly<Record<string, string>>): Buffer => {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [path, text] of Object.entries(files)) {
    const name = Buffer.from(path);
    const content = Buffer.from(text);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(FLAGS, 2);
    common.writeUInt16LE(DATE, 8);
    common.writeUInt32LE(Bun.hash.crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.alloc(14);
    entry.writeUInt32LE((MODE << 16) >>> 0, 6);
    entry.writeUInt32LE(offset, 10);
    // Made on Unix, whose modes the entry holds.
    const maker = Buffer.from([VERSION, 3]);
    parts.push(Buffer.from("PK\x03\x04"), common, name, content);
    directory.push(Buffer.from("PK\x01\x02"), maker, common, entry, name);
    offset += 4 + common.length + name.length + content.length;
  }
  const end = Buffer.alloc(18);
  const count = Object.keys(files).length;
  end.writeUInt16LE(count, 4);
  end.writeUInt16LE(count, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, ...directory, Buffer.from("PK\x05\x06"), end]);
};
