// A browser for tests: `node browser.mjs ADDRESS ACCOUNT [CODE]` follows redirects with cookies, and submits each form
// that it meets, with the code of the device flow. It prints the text of the last page.
const [address, account, code] = process.argv.slice(2);
const cookies = new Map();

const visit = async (url, form) => {
  const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  if (account) headers['x-account'] = account;
  const options = { headers, redirect: 'manual' };
  if (form) Object.assign(options, { method: 'POST', body: new URLSearchParams(form) });
  const response = await fetch(url, options);
  for (const cookie of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
    cookies.set(name, value);
  }
  return response;
};

let url = address;
let form;
for (let step = 0; step < 20; step += 1) {
  const response = await visit(url, form);
  form = undefined;
  const next = response.headers.get('location');
  if (next) {
    url = new URL(next, url).href;
    continue;
  }
  const page = await response.text();
  const found = /<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/.exec(page);
  if (!found) {
    console.log(`${response.status} ${page.replace(/<style[\s\S]*?<\/style>|<[^>]*>/g, ' ').replace(/\s+/g, ' ')}`);
    process.exit();
  }
  form = {};
  for (const [field] of found[2].matchAll(/<input[^>]*>/g)) {
    const of = (name) => new RegExp(`${name}="([^"]*)"`).exec(field)?.[1];
    if (of('name')) form[of('name')] = of('name') === 'user_code' && code ? code : of('value') ?? '';
  }
  url = new URL(found[1], url).href;
}
console.log('no end');
process.exitCode = 1;
