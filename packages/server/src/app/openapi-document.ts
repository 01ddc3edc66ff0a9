// The OpenAPI document of every operation, as the service serves it.

import { buildOpenapi } from '../http/openapi.ts'
import { allRoutes } from './routes.ts'
import { VERSION } from './version.ts'

export const openapiDocument = (): Record<string, unknown> =>
  buildOpenapi(
    allRoutes().map(({ operation }) => operation),
    VERSION,
  )
