// The router: one lazy route for each built screen, under the frame. Search values are texts.

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { ErrorState, LoadingState, NotFoundState } from '../parts/states.tsx'
import { Frame } from './frame.tsx'
import { SCREENS } from './screens.ts'

const root = createRootRoute({ component: Frame, notFoundComponent: NotFoundState })

/**
 * The router reloads the page once where a module is gone, as after an update of the service. A
 * style sheet that is gone is a failure of another name.
 */
function failToImport(error: Error): never {
  const name = 'Failed to fetch dynamically imported module'
  if (error.message.startsWith(name)) throw error
  throw new Error(`${name}: ${error.message}`, { cause: error })
}

const screens = SCREENS.flatMap(({ path, load }) => {
  if (!load) return []
  const component = lazyRouteComponent(async () => ({ default: await load().catch(failToImport) }))
  return [createRoute({ getParentRoute: () => root, path, component })]
})

const chain = createRoute({
  getParentRoute: () => root,
  path: '/chain',
  beforeLoad: () => {
    throw redirect({ to: '/log' })
  },
})

export const router = createRouter({
  routeTree: root.addChildren([...screens, chain]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: false,
  defaultPendingComponent: LoadingState,
  defaultErrorComponent: ({ error }) => <ErrorState error={error} />,
  // The default writes and reads JSON, and would make a number of a filter's digits.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return text === '' ? '' : `?${text}`
  },
})
