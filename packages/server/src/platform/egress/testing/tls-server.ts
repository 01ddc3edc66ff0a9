// A receiver with TLS on loopback, trusted by this process alone.

import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/** For localhost, hooks.test and 127.0.0.1 until 2126; it proves nothing to anybody else. */
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgR+DV24PgjbMBuEyh
khrIjvmVaAC4lY61SpRWK3Q6bzehRANCAARDO+vmaXsHtJm7CcPMUD8OQ/8prLXr
bB6HYspoLnMKh5esOiShec33Xr5iFtPvkQ2l6fThUSisButVWSoKs19p
-----END PRIVATE KEY-----`

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBvjCCAWWgAwIBAgIUDAtL8l289eLERGX0uxHwcEsGPZAwCgYIKoZIzj0EAwIw
IDEeMBwGA1UEAwwVQ3VzdG9zIGxvb3BiYWNrIHRlc3RzMCAXDTI2MTEyMzA2MTUx
OFoYDzIxMjYxMDMwMDYxNTE4WjAgMR4wHAYDVQQDDBVDdXN0b3MgbG9vcGJhY2sg
dGVzdHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARDO+vmaXsHtJm7CcPMUD8O
Q/8prLXrbB6HYspoLnMKh5esOiShec33Xr5iFtPvkQ2l6fThUSisButVWSoKs19p
o3sweTAdBgNVHQ4EFgQU5v23i928PcD4OZni5ZteT3OJgYAwHwYDVR0jBBgwFoAU
5v23i928PcD4OZni5ZteT3OJgYAwDwYDVR0TAQH/BAUwAwEB/zAmBgNVHREEHzAd
gglsb2NhbGhvc3SCCmhvb2tzLnRlc3SHBH8AAAEwCgYIKoZIzj0EAwIDRwAwRAIg
Y3X+1FrRvKYWWoMF9VOvUDreIZDzdGY/+Q2pzJcQYEoCIEaTmjiuBjagzRPHX7T7
rzOjI/GRygDKmITqsrU8goVo
-----END CERTIFICATE-----`

/** For processes that trust it by `NODE_EXTRA_CA_CERTS`. */
export function writeTestCertificate(path: string): string {
  writeFileSync(path, CERTIFICATE)
  return path
}

export function trustTestCertificate(): void {
  const known = getCACertificates('default')
  if (!known.includes(CERTIFICATE)) setDefaultCACertificates([...known, CERTIFICATE])
}

/** On a free port of `host`; closed when the test ends. */
export async function startTlsServer(
  t: { after(close: () => void): void },
  answer: RequestListener,
  host = '127.0.0.1',
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer({ key: KEY, cert: CERTIFICATE }, answer)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  // Bound to a port just now.
  return { server, port: (server.address() as AddressInfo).port }
}
