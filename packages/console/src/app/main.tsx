// The console's entry: queries, session, and the router with one lazy route for each built screen.

import '../styles/base.css'
import { ApiError } from '@custos/client'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  RouterProvider,
  redirect,
} from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { SessionGate, useSession } from '../api/session.tsx'
import css from '../parts/page-header.module.css'
import { EmptyState, ErrorState, LoadingState, NotFoundState } from '../parts/states.tsx'
import { Frame } from './frame.tsx'
import { isVisible, SCREENS, type ScreenEntry } from './screens.ts'
import { SignIn } from './sign-in.tsx'
import { applyTheme } from './theme.tsx'

const root = createRootRoute({ component: Frame, notFoundComponent: NotFoundState })

/**
 * The router reloads the page once if a module is missing, for example after an update of the
 * service. A missing style sheet has another error, which this converts to that of a module.
 */
function failToImport(error: Error): never {
  const name = 'Failed to fetch dynamically imported module'
  if (error.message.startsWith(name)) throw error
  throw new Error(`${name}: ${error.message}`, { cause: error })
}

/** Shown if a link leads to a screen that the caller may not use. */
function NoRightState({ title, scope, whole }: ScreenEntry) {
  const { can } = useSession()
  return (
    <>
      <title>{`${title} · Custos`}</title>
      <header className={css['header']}>
        <h1>{title}</h1>
      </header>
      <EmptyState title="Your rights do not include this screen">
        {scope && !can(scope) ? (
          <p>
            It needs the scope <code>{scope}</code>.{' '}
            {scope === 'admin:platform'
              ? 'Only the operator of the service has it.'
              : 'An administrator of the tenant can give it to you.'}
          </p>
        ) : (
          whole && <p>It is about the whole tenant, and you may use some of its stores.</p>
        )}
      </EmptyState>
    </>
  )
}

const screens = SCREENS.flatMap((screen) => {
  const { path, load } = screen
  if (!load) return []
  const Shown = lazyRouteComponent(async () => ({ default: await load().catch(failToImport) }))
  const component = Object.assign(
    () => (isVisible(screen, useSession()) ? <Shown /> : <NoRightState {...screen} />),
    { preload: async () => Shown.preload?.() },
  )
  return [createRoute({ getParentRoute: () => root, path, component })]
})

const chain = createRoute({
  getParentRoute: () => root,
  path: '/chain',
  beforeLoad: () => {
    throw redirect({ to: '/log' })
  },
})

const router = createRouter({
  routeTree: root.addChildren([...screens, chain]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: false,
  defaultPendingComponent: LoadingState,
  defaultErrorComponent: ({ error }) => <ErrorState error={error} />,
  // The default uses JSON, which would turn a filter of digits into a number.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
    return text === '' ? '' : `?${text}`
  },
})

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The client already retries where it helps; a refusal is not retried.
      retry: (count, error) => !(error instanceof ApiError) && count < 1,
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    // A service on this machine needs no network, and a write must not wait until there is one.
    mutations: { networkMode: 'always' },
  },
})

applyTheme()
const element = document.getElementById('root')
if (element)
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <SessionGate
          loading={<LoadingState />}
          signIn={(ways) => <SignIn {...ways} />}
          failed={(error) => <ErrorState error={error} />}
        >
          <RouterProvider router={router} />
        </SessionGate>
      </QueryClientProvider>
    </StrictMode>,
  )
