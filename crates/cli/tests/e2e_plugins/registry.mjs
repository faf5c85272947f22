// A registry of npm that has one package: the tarball at the path that it is given. Prints its address.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

const [path, manifest] = process.argv.slice(2)
const tarball = readFileSync(path)
const version = JSON.parse(readFileSync(manifest, "utf8"))
const integrity = "sha512-" + createHash("sha512").update(tarball).digest("base64")
const server = createServer((request, response) => {
  const address = `http://127.0.0.1:${server.address().port}`
  if (request.url === "/tarball.tgz") return response.end(tarball)
  if (decodeURIComponent(request.url) !== `/${version.name}`) return response.writeHead(404).end("{}")
  const dist = { tarball: `${address}/tarball.tgz`, integrity }
  const versions = { [version.version]: { ...version, dist } }
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ name: version.name, "dist-tags": { latest: version.version }, versions }))
})
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
