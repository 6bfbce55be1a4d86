FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json prisma.config.ts ./
COPY scripts ./scripts
COPY prisma ./prisma
COPY src ./src
RUN npm run build
# --omit=dev would leave the Prisma command line and TypeScript here, as optional peers of the client. The libraries
# of the embedded database are linked now, since the service may not write to its own code.
RUN npm pkg delete devDependencies && npm prune --no-audit --no-fund \
 && node -e "import('./dist/db/embedded-binaries.js').then(({ findBinaries }) => findBinaries())"

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 FUSEBOARD_DATA_DIR=/data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/prisma ./prisma
COPY --from=build /app/dist ./dist
RUN install -d -o node -g node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
