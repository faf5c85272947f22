// Makes the .vsix: a zip with a manifest, the built extension and the packages that it needs.
//
// Only what Node has: the same tree makes the same bytes.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
const repository = path.join(root, "../..");
const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));

/** Files of the extension by their names in the archive. */
function files() {
  const found = new Map();
  const add = (name, from) => found.set(`extension/${name}`, readFileSync(from));
  const shipped = { ...manifest };
  delete shipped.scripts;
  delete shipped.devDependencies;
  found.set("extension/package.json", Buffer.from(`${JSON.stringify(shipped, null, 2)}\n`));
  add("README.md", path.join(root, "README.md"));
  add("LICENSE.txt", path.join(repository, "LICENSE"));
  for (const name of readdirSync(path.join(repository, "editors/schemas")).sort()) {
    add(`schemas/${name}`, path.join(repository, "editors/schemas", name));
  }
  for (const name of readdirSync(path.join(root, "out")).sort()) {
    add(`out/${name}`, path.join(root, "out", name));
  }
  for (const name of needed()) {
    const folder = path.join(root, "node_modules", name);
    for (const file of walk(folder)) {
      if (isShipped(file)) {
        add(`node_modules/${name}/${file}`, path.join(folder, file));
      }
    }
  }
  return found;
}

/** Names of the packages that the extension needs when it runs, from its lock file. */
function needed() {
  const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));
  return Object.entries(lock.packages)
    .filter(([place, about]) => place.startsWith("node_modules/") && !about.dev)
    .map(([place]) => place.slice("node_modules/".length))
    .sort();
}

/** Tells whether a file of a package is of use at run time, or a licence. */
function isShipped(file) {
  const parts = file.split("/");
  if (parts.some((part) => ["browser", "esm", "test", "typings"].includes(part))) {
    return false;
  }
  return /\.(js|cjs|json)$/.test(file) || /^(licen[cs]e|thirdparty)/i.test(parts.at(-1));
}

function walk(folder, below = "") {
  const names = readdirSync(path.join(folder, below)).sort();
  return names.flatMap((name) => {
    const file = below === "" ? name : `${below}/${name}`;
    return statSync(path.join(folder, file)).isDirectory() ? walk(folder, file) : [file];
  });
}

function escaped(text) {
  return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

function vsixManifest() {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${manifest.name}" Version="${manifest.version}" Publisher="${manifest.publisher}"/>
    <DisplayName>${escaped(manifest.displayName)}</DisplayName>
    <Description xml:space="preserve">${escaped(manifest.description)}</Description>
    <Tags>yaml,json,agents</Tags>
    <Categories>${escaped(manifest.categories.join(","))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escaped(manifest.engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Source" Value="${escaped(manifest.repository.url)}"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

const TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".cjs" ContentType="application/javascript"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".txt" ContentType="text/plain"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
`;

const CRC = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) {
    value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return value;
});

function crc32(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value = CRC[(value ^ byte) & 0xff] ^ (value >>> 8);
  }
  return (value ^ 0xffffffff) >>> 0;
}

/** Writes a zip; every file has the first date that a zip can say. */
export function zip(entries) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [name, bytes] of entries) {
    const packed = deflateRawSync(bytes, { level: 9 });
    const encoded = Buffer.from(name, "utf8");
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version
    common.writeUInt16LE(0x0800, 2); // names are UTF-8
    common.writeUInt16LE(8, 4); // deflated
    common.writeUInt16LE(0, 6); // 00:00
    common.writeUInt16LE(0x21, 8); // 1980-01-01
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(encoded.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, encoded, packed]);
    const central = Buffer.alloc(16);
    central.writeUInt32LE((0o100644 << 16) >>> 0, 8);
    central.writeUInt32LE(offset, 12);
    const made = Buffer.from([20, 3]); // by a Unix
    directory.push(
      Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), made, common, central.subarray(2), encoded]),
    );
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from("PK\x05\x06", "latin1"), end]);
}

function main() {
  if (!existsSync(path.join(root, "out/extension.js"))) {
    execFileSync("npm", ["run", "build"], { cwd: root, stdio: "inherit" });
  }
  const entries = [
    ["extension.vsixmanifest", Buffer.from(vsixManifest())],
    ["[Content_Types].xml", Buffer.from(TYPES)],
    ...files(),
  ];
  const folder = process.argv[2] ?? path.join(repository, "target/package/vscode");
  mkdirSync(folder, { recursive: true });
  const target = path.join(folder, `${manifest.name}-${manifest.version}.vsix`);
  writeFileSync(target, zip(entries));
  console.log(target);
}

main();
