// Reads a log (C2SP tlog-tiles) and erasure certificates over HTTP. The caller verifies all of it.

import { formatTilePath, isObject, type TileName } from '@custos/proof'
import { CommandError } from '../../command.ts'

const TIMEOUT_MS = 30_000
/** The largest answer: 256 entries of 64 KB. */
const BYTES_MAX = 17 * 1024 * 1024

/** The log could not be read now. This is no evidence of misbehaviour. */
export class LogUnreadable extends CommandError {}

export class TileReader {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>

  constructor({ url, apiKey }: { readonly url: string; readonly apiKey: string | undefined }) {
    this.#url = url
    this.#headers = {
      // A proxy cache could still serve tiles from before a restore.
      'cache-control': 'no-cache',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    }
  }

  /** The current checkpoint; null if the log has none. */
  async checkpoint(): Promise<string | null> {
    const bytes = await this.#get('/v1/log/checkpoint')
    return bytes && new TextDecoder().decode(bytes)
  }

  /** A tile; null if the log does not serve it. */
  tile(name: TileName): Promise<Uint8Array | null> {
    return this.#get(`/v1/log/tile/${formatTilePath(name)}`)
  }

  /** The signed bytes of a certificate; null if it does not exist. */
  async certificate(certificate_id: string): Promise<Uint8Array | null> {
    const bytes = await this.#get(`/v1/erasure/${encodeURIComponent(certificate_id)}`)
    if (bytes === null) return null
    try {
      const found: unknown = JSON.parse(new TextDecoder().decode(bytes))
      const text = isObject(found) ? found['signed_bytes'] : undefined
      return Buffer.from(String(text), 'base64')
    } catch {
      return null
    }
  }

  async #get(path: string): Promise<Uint8Array | null> {
    let response: Response
    try {
      response = await fetch(`${this.#url}${path}`, {
        headers: this.#headers,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      if (response.ok) return await readBounded(response)
      await response.body?.cancel()
    } catch (error) {
      if (error instanceof LogUnreadable) throw error
      const reason = error instanceof Error ? error.message : 'no response'
      throw new LogUnreadable(`${path}: ${reason}`)
    }
    if (response.status === 404) return null
    const advice =
      response.status === 401 || response.status === 403
        ? ': set CUSTOS_API_KEY to a key with the scopes gcrumbs:read and erasure:read'
        : ''
    throw new LogUnreadable(`${path}: status ${response.status}${advice}`)
  }
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > BYTES_MAX) throw new LogUnreadable('the response is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
