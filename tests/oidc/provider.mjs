// An OpenID provider for tests: `oidc-provider`, with people who sign in without being asked.
//
// Prints `{"issuer": …}` when it listens, and ends with its standard input. A browser says who it is with the header
// `x-account`. `POST /mint` signs any claims with the provider's own keys, as a provider with other clients or a wrong
// clock would.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { SignJWT, importJWK } from 'jose';
import { Provider } from 'oidc-provider';

const made = (type, options, alg, kid) => {
  const { privateKey } = generateKeyPairSync(type, options);
  return { ...privateKey.export({ format: 'jwk' }), alg, kid, use: 'sig' };
};
const keys = {
  RS256: made('rsa', { modulusLength: 2048 }, 'RS256', 'rsa-1'),
  ES256: made('ec', { namedCurve: 'P-256' }, 'ES256', 'ec-1'),
};
// A key that the provider does not publish, under the id of one that it does.
const foreign = made('rsa', { modulusLength: 2048 }, 'RS256', 'rsa-1');
// What people have changed their names to, by `POST /rename`.
const names = new Map();
const groups = { dana: ['sec-team'], eli: ['sec-team'] };

const body = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
};

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const client = (client_id) => ({
    client_id,
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/'],
    response_types: ['code'],
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
  });
  const provider = new Provider(issuer, {
    clients: [client('interlock'), client('other')],
    jwks: { keys: Object.values(keys) },
    cookies: { keys: ['only for tests'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({
        sub: id,
        email: `${names.get(id) ?? id}@example.org`,
        email_verified: !id.startsWith('un'),
        preferred_username: names.get(id) ?? id,
        groups: groups[id] ?? [],
      }),
    }),
  });
  const callback = provider.callback();
  server.on('request', async (request, response) => {
    try {
      if (request.url === '/mint') {
        const { claims, header, key } = JSON.parse(await body(request));
        const jwk = key === 'foreign' ? foreign : keys[key];
        const token = new SignJWT({ iss: issuer, ...claims });
        token.setProtectedHeader({ alg: jwk.alg, kid: jwk.kid, typ: 'JWT', ...header });
        response.end(await token.sign(await importJWK(jwk, jwk.alg)));
      } else if (request.url === '/rename') {
        const { account, name } = JSON.parse(await body(request));
        names.set(account, name);
        response.end();
      } else if (request.url.startsWith('/interaction/')) {
        const { params, prompt } = await provider.interactionDetails(request, response);
        const accountId = request.headers['x-account'];
        if (!accountId) {
          const error = { error: 'access_denied', error_description: 'the person said no' };
          return await provider.interactionFinished(request, response, error);
        }
        const grant = new provider.Grant({ accountId, clientId: params.client_id });
        grant.addOIDCScope(params.scope);
        const grantId = await grant.save();
        const result = { login: { accountId }, consent: { grantId } };
        await provider.interactionFinished(request, response, result);
      } else {
        callback(request, response);
      }
    } catch (error) {
      response.statusCode = 500;
      response.end(String(error));
    }
  });
  console.log(JSON.stringify({ issuer }));
});
process.stdin.on('end', () => process.exit()).resume();
