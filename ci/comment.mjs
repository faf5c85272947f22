// Writes the results of ci/verify.sh as a comment of a pull request, or writes its earlier comment anew.
//
//   node comment.mjs SUMMARY.md
//
//   GITHUB_TOKEN                     may write comments of pull requests
//   GITHUB_REPOSITORY                OWNER/NAME
//   GITHUB_API_URL                   https://api.github.com when left out
//   INTERLOCK_PULL_REQUEST           the number of the pull request
//   INTERLOCK_COMMENTS_AS            whose earlier comment is written anew; github-actions[bot] when left out
//   GITHUB_SERVER_URL, GITHUB_RUN_ID for a link to the job
//
// Exit code: 0 written, or may not be written, as in a pull request from a fork; 2 anything else.
import { readFileSync } from "node:fs";

const MARK = "<!-- interlock: results of workflows -->";
/** Comments a page, and pages that are looked at. */
const PER_PAGE = 100;
const PAGES_MAX = 30;
/** The longest comment that GitHub takes, in characters, and a part less. */
const LENGTH_MAX = 60_000;

const environment = process.env;

function fail(why) {
  console.error(`comment.mjs: ${why}`);
  process.exit(2);
}

function needed(name) {
  return environment[name] || fail(`${name} is not set`);
}

const [summary] = process.argv.slice(2);
if (!summary) fail("usage: node comment.mjs SUMMARY.md");
const number = needed("INTERLOCK_PULL_REQUEST");
if (!/^[1-9][0-9]*$/.test(number)) fail("INTERLOCK_PULL_REQUEST is no number");
const repository = needed("GITHUB_REPOSITORY");
if (!/^[\w.-]+\/[\w.-]+$/.test(repository)) fail("GITHUB_REPOSITORY is not OWNER/NAME");
const token = needed("GITHUB_TOKEN");
const author = environment.INTERLOCK_COMMENTS_AS || "github-actions[bot]";
const base = `${environment.GITHUB_API_URL || "https://api.github.com"}/repos/${repository}/issues`;

async function call(method, path, body) {
  const answer = await fetch(`${base}/${path}`, {
    method,
    redirect: "error",
    headers: {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "user-agent": "interlock",
      "x-github-api-version": "2022-11-28",
      ...(body ? { "content-type": "application/json" } : {}),
    },
    body: body ? JSON.stringify(body) : undefined,
    signal: AbortSignal.timeout(30_000),
  });
  if (answer.status === 403 || answer.status === 404) {
    const why = "the token may not read and write comments of this pull request: it needs `pull-requests: write`";
    console.log(`::warning title=Interlock::${why}`);
    process.exit(0);
  }
  if (!answer.ok) fail(`${method} ${path}: status ${answer.status}`);
  return answer.json();
}

/** Finds the comment that an earlier run has written. */
async function earlier() {
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const comments = await call("GET", `${number}/comments?per_page=${PER_PAGE}&page=${page}`);
    // Anybody may write the mark into a comment of their own.
    const own = comments.find((one) => one.user?.login === author && one.body?.startsWith(MARK));
    if (own) return own;
    if (comments.length < PER_PAGE) return undefined;
  }
  return undefined;
}

try {
  let text = readFileSync(summary, "utf8").trim();
  if (text.length > LENGTH_MAX) text = `${text.slice(0, LENGTH_MAX)}\n\nThe rest is in the summary of the job.`;
  const { GITHUB_SERVER_URL: server, GITHUB_RUN_ID: run } = environment;
  const job = server && run ? `\n\n[The job](${server}/${repository}/actions/runs/${run})` : "";
  const body = `${MARK}\n${text}${job}\n`;
  const own = await earlier();
  if (own === undefined) await call("POST", `${number}/comments`, { body });
  else if (own.body !== body) await call("PATCH", `comments/${own.id}`, { body });
} catch (error) {
  fail(error.cause?.message ?? error.message);
}
