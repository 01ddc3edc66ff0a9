// Where the examples find the service: two settings of the environment.

/** Without a key the service must run in local mode, which `npm start` does. */
export function readSettings(): { url: string; apiKey?: string } {
  const { CUSTOS_URL: url = 'http://127.0.0.1:8420', CUSTOS_API_KEY: apiKey } = process.env
  return apiKey === undefined ? { url } : { url, apiKey }
}
