// A timestamp authority that we did not write: `openssl ts`, with a root certificate of its own.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { readCertificates } from '../timestamp-token.ts'

const TSA_CONFIG = `
[tsa]
default_tsa = tsa_config
[tsa_config]
dir = .
serial = $dir/serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
other_policies = 1.2.3.4.5
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
[stamping]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = critical,timeStamping
[none]
basicConstraints = critical,CA:FALSE
[both]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = critical,timeStamping,clientAuth
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[req]
distinguished_name = name
[name]
`

const TIMESTAMP_INFO = '1.2.840.113549.1.9.16.1.4'

const KEYS = {
  rsa: ['-newkey', 'rsa:2048'],
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
} as const

export interface OpensslAuthority {
  /** PEM of the certificate above that of the authority. */
  readonly root: string
  /** PEM of its own certificate. */
  readonly own: string
  readonly root_path: string
  /** What openssl answers to a request. */
  reply(request: Uint8Array): Buffer
  /** The content of a token signed by it as `openssl cms` signs, which asks for no purpose. */
  sign(token: Uint8Array, options?: readonly string[]): Buffer
  /** Any command of it, in the directory of the authority. */
  openssl(args: readonly string[]): { readonly status: number | null; readonly text: string }
  /** Writes a file there and returns its path. */
  file(name: string, bytes: string | Uint8Array): string
}

/** Removed at the end of the test. */
export function openOpensslAuthority(
  t: TestContext,
  {
    key = 'rsa',
    purpose = 'stamping',
  }: {
    readonly key?: keyof typeof KEYS
    /** The section of its certificate's extensions. */
    readonly purpose?: 'stamping' | 'both' | 'none'
  } = {},
): OpensslAuthority {
  const dir = mkdtempSync(join(tmpdir(), 'custos-timestamps-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = (name: string, bytes: string | Uint8Array): string => {
    writeFileSync(join(dir, name), bytes)
    return join(dir, name)
  }
  const openssl = (args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' })
    return { status, text: `${stdout}${stderr}` }
  }
  const done = (...args: readonly string[]) => {
    const { status, text } = openssl(args)
    assert.equal(status, 0, text)
  }
  file('config', TSA_CONFIG)
  file('serial', '01\n')
  const made = ['-config', 'config', '-nodes', ...KEYS[key]]
  const root = ['-subj', '/CN=root', '-keyout', 'root.key', '-out', 'root.pem']
  done('req', '-x509', ...made, ...root, '-days', '30', '-extensions', 'authority')
  done('req', ...made, '-subj', '/CN=tsa', '-keyout', 'tsa.key', '-out', 'tsa.csr')
  const issuer = ['-CA', 'root.pem', '-CAkey', 'root.key', '-CAcreateserial', '-days', '30']
  const extensions = ['-extfile', 'config', '-extensions', purpose]
  done('x509', '-req', '-in', 'tsa.csr', ...issuer, ...extensions, '-out', 'tsa.pem')
  return {
    root: readFileSync(join(dir, 'root.pem'), 'utf8'),
    own: readFileSync(join(dir, 'tsa.pem'), 'utf8'),
    root_path: join(dir, 'root.pem'),
    file,
    openssl,
    reply(request) {
      file('query', request)
      const signer = ['-signer', 'tsa.pem', '-inkey', 'tsa.key']
      const given = ['-config', 'config', '-queryfile', 'query', '-out', 'reply']
      done('ts', '-reply', ...given, ...signer)
      return readFileSync(join(dir, 'reply'))
    },
    sign(token, options = ['-cades']) {
      file('token', token)
      const taken = ['-inform', 'DER', '-in', 'token', '-noverify', '-out', 'content']
      done('cms', '-verify', ...taken)
      const content = ['-in', 'content', '-binary', '-nodetach', '-econtent_type', TIMESTAMP_INFO]
      const signer = ['-signer', 'tsa.pem', '-inkey', 'tsa.key', ...options]
      done('cms', '-sign', ...content, ...signer, '-outform', 'DER', '-out', 'signed')
      return readFileSync(join(dir, 'signed'))
    },
  }
}

/** It over HTTP on loopback; answers as a test says. */
export async function serveAuthority(t: TestContext, authority: OpensslAuthority) {
  const own: { answer: (request: Buffer, response: ServerResponse) => void } = {
    answer: (request, response) => response.end(authority.reply(request)),
  }
  const received: Buffer[] = []
  const server = createServer((request, response) => {
    assert.equal(request.headers['content-type'], 'application/timestamp-query')
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push(Buffer.concat(chunks))
      own.answer(Buffer.concat(chunks), response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  const url = `http://127.0.0.1:${address.port}/stamp`
  return { own, received, url, settings: { url, certificates: readCertificates(authority.root) } }
}
