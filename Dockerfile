# The command line of Rollout Gate with Node, for jobs of GitLab, Jenkins and others. RELEASING.md says how it is published.
FROM node:24-trixie-slim

COPY package.json LICENSE /opt/rollout-gate/
COPY dist/ /opt/rollout-gate/dist/
RUN ln -s /opt/rollout-gate/dist/cli.js /usr/local/bin/rollout-gate

# The user `node` of the base image. Kubernetes checks only a number (runAsNonRoot).
USER 1000:1000
WORKDIR /home/node

# No entry point: GitLab and Jenkins start a shell in the image.
CMD ["rollout-gate", "--help"]
