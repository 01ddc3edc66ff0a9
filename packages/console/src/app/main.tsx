// The console's entry: queries, session, router.

import { ApiError } from '@custos/client'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { SessionGate } from '../api/session.tsx'
import { ErrorState, LoadingState } from '../parts/states.tsx'
import { router } from './router.tsx'
import { SignIn } from './sign-in.tsx'
import { applyTheme } from './theme.tsx'
import '../styles/base.css'

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
