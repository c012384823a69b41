/** Every number that decides a verdict or that users can notice. Texts and documentation take the numbers from here. */

// Defaults of inputs

/** The default of `timeout`: equal to the default progressDeadlineSeconds of a Deployment. */
export const defaultTimeoutMs = 10 * 60_000
/** The default of `stall-timeout`: equal to the kubelet's longest wait between two restarts (MaxContainerBackOff). */
export const defaultStallTimeoutMs = 5 * 60_000
/** The default of `settle-time`: most containers that crash at their start crash within this time. */
export const defaultSettleTimeMs = 10_000
/** The default timeout of the milestone `created`: after this time, a misspelt name fails the gate. */
export const defaultCreatedTimeoutMs = 30_000
/** The default of `max-restarts`: a container may crash until a container on which it depends has started. */
export const defaultMaxRestarts = 2
/** The default of `log-lines`: enough for a stack trace with its cause, and few enough for a screen. */
export const defaultLogLines = 25
/** The longest duration of an input, a week: jobs do not run longer, and timers of Node.js are limited to 24 days. */
export const maxDurationMs = 168 * 3_600_000
/** The largest number that an input accepts: a larger number is most likely a typing error. */
export const maxNumber = 1_000
/** The default of `--timeout` in a line of `http-checks`: five times the default timeout of a probe. */
export const defaultRequestTimeoutMs = 5_000

// After ready: requests, hold

/** The interval of requests to a pod, until it has answered and during the hold: the default period of a probe. */
export const requestIntervalMs = 10_000
/** How many wrong or missing answers in a row fail a target: the default failureThreshold of a probe. */
export const answersProven = 3
/** The minimum time from the first to the last answer that fails a target: caches may still be empty. */
export const answersProvenMs = 30_000
/** How much of an answer's body is kept: most often, the first line contains the error. */
export const answerBodyCharacters = 200
/** How many right answers, and how many wrong answers, are recorded for a line of `http-checks`. */
export const maxRecordedAnswers = 20
/** How long the gate waits at the end of the hold for the answers to the last requests. */
export const lastAnswerMs = 30_000
/** How long a target without pods may be not ready during the hold: Flux reports not ready while it reconciles. */
export const fallenMs = 10_000

// Deaths of containers, and missing objects and images

/** The minimum time from a container's first death to its third: the container may need another object of the apply. */
export const deathsProvenMs = 30_000
/** Replaces `deathsProvenMs` while another target progresses: the container may depend on that target. */
export const deathsProvenWhileOthersProgressMs = 90_000
/** After this time, exit code 126 or 127 comes from the program itself: a shell that finds no program ends at once. */
export const shellMs = 2_000
/** How many refused pulls prove that an image is missing: the image may still be pushed after the first. */
export const notFoundRefusals = 2
/** How many refused pulls prove missing authorization: the credentials may be replaced during the apply. */
export const unauthorizedRefusals = 3
/** How long a Secret or ConfigMap may be missing: operators may create it after the pod. */
export const missingObjectMs = 60_000
/** Within this time, the kubelet tries again to create a container: it retries after 10 to 15 s (pkg/kubelet). */
export const kubeletRetryMs = 20_000
/** What is older than this at the gate's start predates the apply: most gates start seconds after the apply. */
export const maxApplyAgeMs = 60_000
/** Failing probes are not logged until a container has run for this time: its server may still be starting. */
export const startTimeMs = 10_000
/** An init container or hook that runs longer than this is reported: it may wait for something missing. */
export const longStepMs = 30_000
/** The containers of a pod that is older than this at the gate's start may have died before this rollout. */
export const earlierDeathsMs = 10 * 60_000
/** A container that has run for this time has recovered: the kubelet resets its back-off after the same time. */
export const recoveredMs = 10 * 60_000
/** How much later than its events the kubelet may write the status of a container. */
export const statusLagMs = 20_000
/** The kubelet's first wait between two pulls, unless a node is configured with less (pkg/kubelet). */
export const firstPullBackOffMs = 10_000

// Pods, nodes and volumes

/** How long a scheduler or kubelet may take to acknowledge a pod: most take about a second. */
export const acknowledgedMs = 10_000
/** How long a pod may exist on a lost node after its toleration: a controller deletes it, and its owner replaces it. */
export const replacedMs = 10_000
/** If nothing reports a pod for this time, its node is read. The node controller marks a lost node after 50 s. */
export const quietNodeMs = 120_000
/** How many pods of a target are examined in a millisecond: thousands of failing pods change faster than that. */
export const examinedPodsPerMs = 10
/** How many nodes are read because nothing reports their pods: if there are more, the nodes are hardly the cause. */
export const maxQuietNodes = 5
/** The kubelet's longest wait between two attempts to mount a volume (pkg/util/goroutinemap/exponentialbackoff). */
export const mountRetryMs = 122_000
/** How long a pod may exist after its grace period: the kubelet kills its containers, and then deletes the pod. */
export const overdueDeletionMs = 10_000
/** How long a claim may be Lost: its controller binds the claim to a restored volume within 15 s (syncBoundClaim). */
export const lostClaimMs = 30_000

// Controllers and policies

/** How long before an operator reports a failure its cause may have ended: operators remove failed objects. */
export const removedCauseMs = 60_000
/** The minimum time between two refusals by a policy that fail a target: the same apply may change the policy. */
export const deniedMs = 3_000
/** How often the pods must be denied by a policy, or be invalid, to fail their target. */
export const refusedCreations = 2
/** A controller's first wait before it retries to create a pod (DefaultTypedControllerRateLimiter). It doubles. */
export const firstCreationRetryMs = 5
/** A controller's longest wait before it retries to create a pod (DefaultTypedControllerRateLimiter, client-go). */
export const maxCreationRetryMs = 1_000_000
/** How late a controller may retry to create a pod, because it has other work. */
export const creationRetrySlackMs = 10_000
/** The Job controller's first wait after a failed pod (DefaultJobPodFailureBackOff, pkg/controller/job). It doubles. */
export const firstJobBackOffMs = 10_000
/** The Job controller's longest wait after a failed pod (MaxJobPodFailureBackOff, pkg/controller/job). */
export const maxJobBackOffMs = 10 * 60_000
/** Within this time, a new leader of the controllers reports the end of a pod: a lease lasts 15 s, lists follow. */
export const leaderChangeMs = 30_000
/** Without progress for this time, an old ProgressDeadlineExceeded counts. After an undo, it stands without meaning. */
export const standingDeadlineMs = 10_000
/** The HPA controller's interval (`--horizontal-pod-autoscaler-sync-period` of kube-controller-manager). */
export const autoscalerSyncMs = 15_000
/** How long a load balancer may need to change to a requested address. */
export const addressMovesMs = 120_000

// Custom resources

/** How long a reported failure must persist: between two attempts, controllers also report failures. */
export const reportedFailureMs = 10_000
/** For how many settle times a status of unknown meaning must not change: the object may still be starting. */
export const unclearSettles = 3
/** The interval at which an operator compares its objects with their source, if its resource sets no interval. */
export const comparisonIntervalMs = 60_000
/** How long to wait for the first lists of owned objects: without permission, they never arrive. */
export const ownedListsMs = 5_000
/** If a custom resource reports no failure for this time, all kinds that it owns are watched. Each needs a watch. */
export const causeSearchMs = 10_000
/** How many causes of a custom resource's failure are reported: each takes a line of the log and a section. */
export const maxCauses = 5
/** How many objects are watched by name for one custom resource: each needs its own watch. */
export const maxApplied = 50

// The gate

/** How long the gate continues after the first failure, to show the problems of other targets. */
export const failFastMs = 5_000
/** How long a deleted object may be absent: `kubectl replace` and hooks delete objects and create them again. */
export const deletedMs = 5_000
/** How long the gate waits for more matches of a selector: an apply creates objects one after the other. */
export const selectorCompleteMs = 5_000
/** After this time without an entry, a heartbeat lists the open targets: a silent log looks stuck. */
export const heartbeatMs = 30_000
/** The minimum time of settling that the log mentions. */
export const shortestSettlingMs = 2_000
/** A version that was written within this time before the gate is the gated change. Events are kept as long. */
export const recentVersionMs = 3_600_000
/** Changes with a longer pause between them belong to different deployments of the same objects. */
export const deploymentPauseMs = 60_000
/** If the change is at least this long before the gate, the timeline starts with it: it counts in whole seconds. */
export const shownBeforeMs = 1_000
/** Up to this number, each repetition of a problem is logged. Later, only when the number has doubled. */
export const countsInFull = 10
/** How long a list counts as a recent answer of its watch: the first lists of a gate take some time. */
export const recentListMs = 1_000
/** How long a change counts as a recent answer: a controller writes a status soon after a pod changes. */
export const recentChangeMs = 250
/** Watches with more objects are not listed again after a recent change, because their lists take long. */
export const manyObjects = 100
/** The time limit of requests that only look for further mistakes in the inputs. */
export const furtherMistakesMs = 5_000
/** How many targets a heartbeat names, because it is one line. */
export const heartbeatTargets = 5
/** How many wordings of a problem are logged: a text that changes with each event would fill the log. */
export const maxWordings = 5

// The API server and its watches

/** After this time without a successful request, the outcome is `unknown`: a single API server restarts in less. */
export const unknownMs = 2 * 60_000
/** If the server has never answered within this time, the gate assumes a mistake in the kubeconfig. */
export const neverReachedMs = 30_000
/** How long access must be withdrawn to end the gate: the Role may be about to be replaced. */
export const withdrawnMs = 30_000
/** How often the server must refuse renewable credentials to end the gate: the token may be about to be replaced. */
export const credentialRefusals = 2
/** In an outage, the gate times out only this long after the last success, or half of the timeout if shorter. */
export const outageAtTimeoutMs = 30_000
/** How long the first requests are retried, unless the gate's timeout is shorter. */
export const maxInitialMs = 30_000
/** The wait before the first requests are retried. The wait doubles. */
export const firstInitialRetryMs = 200
/** The longest wait before the first requests are retried. */
export const maxInitialRetryMs = 3_000
/** After this time without a byte, a small list tests the server, and the watch is opened again. */
export const watchSilenceMs = 30_000
/** The minimum `timeoutSeconds` of a watch. With the spread below, a watch ends within a minute. */
export const minWatchSeconds = 45
/** A random part of this time is added to `minWatchSeconds`, so that watches do not end together. */
export const watchSpreadSeconds = 16
/** The interval of the lists that replace a watch. A watch is replaced if it is forbidden, or if only lists succeed. */
export const watchForbiddenPollMs = 5_000
/** The maximum number of pages of a list: the 150,000 pods of the largest supported cluster are 300 pages. */
export const maxListPages = 1_000
/** The maximum size of a list: some 30,000 pods of 8 KB, far more than a namespace has. */
export const maxListBytes = 256 << 20
/** How many of the latest events of an object are kept. A component sends 25, then one in 5 minutes (client-go). */
export const maxEventsOfObject = 300
/** The maximum size of an answer of the API server: a page of 500 objects is far smaller. */
export const maxAnswerBytes = 128 << 20
/** How long texts wait for the secrets in a first list that does not arrive. */
export const maxTextWaitMs = 10_000
/** If the process has not run for this time, the process or its machine was suspended. */
export const suspendedMs = 10_000
/** The minimum time between two discoveries, which unknown kinds cause: their CRD may have just been installed. */
export const rediscoveryMs = 5_000
/** The time limit of a credential plugin: after this time, it probably waits for an interactive login. */
export const credentialPluginMs = 60_000
/** How long first lists may delay a watch: a list of many pages must not delay other watches longer. */
export const maxFirstListDelayMs = 1_000
/** The longest line of a watch: an object has at most 1.5 MiB in etcd, and the API server adds fields. */
export const maxWatchLineBytes = 16 << 20
/** The maximum size of an error of the API server: a Status is far smaller. */
export const maxErrorBytes = 64 << 10
/** The maximum size of a message of a forwarded port: container runtimes copy 32 KiB at a time (Go, `io.Copy`). */
export const maxMessageBytes = 1 << 20
/** How many requests to pods run at a time: requests to 1,000 pods must not disturb the API server. */
export const maxConcurrentQuestions = 16
/** The wait before a request to a pod is retried that the API server did not forward. */
export const questionRetryMs = 5_000
/** How much of an answer's body is searched for the text of `--expect-body`. */
export const maxCheckedBodyBytes = 64 << 10
/** The default time limit of a request to the API server. */
export const requestMs = 30_000
/** The maximum time without a byte during a list. */
export const listSilenceMs = 30_000
/** The maximum time without a byte during a refresh; also the time limit to test the server and to open a watch. */
export const answerTimeoutMs = 10_000
/** The minimum time limit of a refresh, which otherwise is twice the duration of the last complete list. */
export const minRefreshMs = 10_000
/** The maximum time limit of a refresh. */
export const maxRefreshMs = 2 * 60_000
/** How long after `timeoutSeconds` the reflector itself ends a watch that the server has not ended. */
export const watchOverdueMs = 10_000
/** If a watch ends sooner than this without an event, the reflector waits: many new watches would be a load. */
export const healthyWatchMs = 1_000
/** How many lists replace a watch until the watch is tried again; after its first failures, fewer. */
export const pollsBetweenWatches = 12
/** How often in a row a watch may fail or end at once before lists replace it. */
export const failedWatchesBeforePolls = 3
/** The wait before the first retry of a watch or list. The wait doubles. */
export const minWatchBackOffMs = 100
/** The longest wait before a retry of a watch or list. */
export const maxWatchBackOffMs = 5_000
/** The longest wait that the server can request (`Retry-After`). */
export const maxRetryAfterMs = 30_000
/** The wait before a request is retried that the server refused with 401 or 405: it seldom succeeds later. */
export const refusedBackOffMs = 20_000
/** The wait before a forbidden request is retried: a Role may be deleted and created again within seconds. */
export const forbiddenBackOffMs = 7_000
/** The wait before a request for a missing kind is retried: the apply may install its CRD. */
export const missingBackOffMs = 5_000
/** How many watches a kind may have in a namespace: more become one watch, because each is a connection. */
export const maxWatchesOfKind = 8
/** How many watches have their permissions checked, because each check sends a request. */
export const maxCheckedRequests = 60

// Values of Secrets

/** The minimum length of a Secret's value that is redacted in texts: short values such as `web` occur in any text. */
export const minSecretCharacters = 8
/** Replaces `minSecretCharacters` for a value with the name of a secret (`password`), unless the value is a word. */
export const minNamedSecretCharacters = 6
/** The maximum length of a value that is redacted in texts: longer values are files, which no log quotes. */
export const maxSecretCharacters = 10_000
/** How long the gate waits at its end for first lists, which contain the secrets to redact in texts. */
export const textFinishMs = 2_000
/** Replaces `textFinishMs` in a cancelled job, which the runner kills after 10 s. */
export const textFinishWhenCancelledMs = 500
/** The minimum length of a masked text: shorter masks would make the log unreadable. */
export const minMaskedCharacters = 4

// Logs of containers, and evidence

/** How many live log lines are shown of all containers together, besides the last lines of each container. */
export const liveLogLines = 5_000
/** How many first lines of a live log are shown at once: enough for a migration. */
export const liveLogHeadLines = 500
/** How many bytes of the first lines of a live log are shown at once. */
export const liveLogHeadBytes = 128 << 10
/** The interval at which the newest lines of a live log are shown, after its first lines. */
export const liveLogIntervalMs = 10_000
/** How many newest lines of a live log are shown at each interval, and at the end. */
export const liveLogTailLines = 25
/** How many live logs are read at the same time, because each is a connection to the API server. */
export const liveLogStreams = 20
/** The maximum length of a log line: longer lines are cut. A line with a stack trace usually fits. */
export const logLineBytes = 4_000
/** The maximum size of a container's last log lines as evidence. */
export const maxTailBytes = 64 << 10
/** The time limit for reading the last lines of a log. */
export const logReadMs = 10_000
/** The `limitBytes` of a log request. The kubelet cuts off the end of the log, so the limit exceeds any needed tail. */
export const maxLogAnswerBytes = 4 << 20
/** After this time without a line, a log is opened again: its file may have been rotated. No line is lost. */
export const logSilenceMs = 60_000
/** The wait before a broken live log is opened again. The wait doubles. */
export const firstLogRetryMs = 500
/** The longest wait before a broken live log is opened again. */
export const maxLogRetryMs = 10_000
/** How many attempts to read a live log must fail in a row before the failure is reported. */
export const reportedLogAttempts = 3
/** How long a verdict waits for the last lines of live logs. */
export const lastLogLinesMs = 1_000
/** Replaces `lastLogLinesMs` in a cancelled job, which the runner kills after 10 s. */
export const lastLogLinesWhenCancelledMs = 300
/** The maximum number of containers whose logs are read as evidence, even if hundreds of targets fail. */
export const maxEvidenceContainers = 24
/** The maximum number of nodes that are read as evidence, even if hundreds of targets fail. */
export const maxEvidenceNodes = 8
/** The maximum number of containers of one target whose logs are read as evidence. */
export const maxContainersOfTarget = 3
/** How many events of a target are shown: more would hide the cause. */
export const maxEvidenceEvents = 20
/** How long a single check (`why`) waits for the first lists: most servers need less than a second. */
export const singleCheckMs = 5_000
/** How long the gate waits at its end for evidence. */
export const evidenceFinishMs = 5_000
/** Replaces `evidenceFinishMs` in a cancelled job, which the runner kills after 10 s. */
export const evidenceFinishWhenCancelledMs = 1_500
/** Events and log lines that are older than this at the gate's start are not shown: they belong to earlier rollouts. */
export const shownHistoryMs = 10 * 60_000
/** How many fields that differ from the manifest a warning lists. */
export const maxDifferences = 5
/** How many fields that still differ are in the message about a change that did not arrive. */
export const maxOpenFields = 3

// GitHub and outputs

/** The minimum time between two updates on GitHub. */
export const updateIntervalMs = 15_000
/** The time limit for showing the outcome on GitHub: longer than most secondary rate limits. */
export const outcomeLimitMs = 90_000
/** Replaces `outcomeLimitMs` in a cancelled job, which the runner kills after 10 s. */
export const outcomeLimitWhenCancelledMs = 4_000
/** The time limit for closing what a killed action left open on GitHub: longer than most secondary rate limits. */
export const closeLimitMs = 60_000
/** The maximum size of an output with a list: operating systems limit the size of an environment variable. */
export const failedResourcesBytes = 64 * 1024
/** The minimum duration of a gate for which the summary contains a diagram. */
export const shortestDiagramMs = 2_000
/** The minimum duration of a milestone that the details of a target show. */
export const shortestWaitMs = 100
/** How many annotations a gate writes. GitHub shows ten of a step, and the step itself may write two. */
export const maxAnnotations = 8
/** The maximum size of the job summary: just below the 1 MiB that GitHub accepts from a step. */
export const maxSummaryBytes = 1_040_000
/** How long the post step waits for the end of the action, which takes about 6 s after a signal. */
export const actionEndMs = 8_000
/** The time limit of an update on GitHub: shorter than the update interval, so that updates never overlap. */
export const updateTimeoutMs = 10_000
/** The time limit of an attempt to show the outcome: a comment may need several requests. */
export const outcomeTimeoutMs = 30_000
/** The wait before an update on GitHub is retried. The wait doubles. */
export const firstUpdateRetryMs = 1_000
/** How many refusals prove a missing permission: GitHub sometimes refuses a valid token for a moment. */
export const maxGithubRefusals = 3
/** How many problems the details of a target show. */
export const maxShownProblems = 5
/** How many changes of the pod template the details of a target show. */
export const maxShownChanges = 20
/** How many log lines the summary shows before the line that looks like the error. */
export const linesBeforeError = 3
/** How many log lines the summary shows after the line that looks like the error: enough for the top of a stack. */
export const linesAfterError = 6
/** How many last lines of a piece of evidence the log and the summary show. */
export const maxEvidenceLines = 200
/** How many lines of the timeline the summary shows: half of them from the start, half from the end. */
export const maxTimelineLines = 2_000
/** How many targets that are not ready the summary has in its table. */
export const maxRows = 500
/** How many targets that are not ready have details in the summary. */
export const maxDetails = 50
/** How many rows of the table are not folded, to keep the overview short. */
export const unfoldedRows = 15
/** How many details of targets are not folded, to keep the summary short. */
export const unfoldedDetails = 10

// Inputs and files

/** The maximum size of a report to merge: many times the size of a report with a thousand failed targets. */
export const maxReportBytes = 64 * 1024 * 1024
/** How many reports can be merged: more gates than a summary can show. */
export const maxReports = 200
/** How many list entries the nested macros of a CEL expression may read: two over 400 conditions read 160,000. */
export const expressionSteps = 200_000
/** The time limit of a CEL expression that may be slow, with many steps or a regular expression. */
export const expressionMs = 1_000
/** The maximum size of a manifest: its YAML syntax tree needs 70 times the memory. An object has at most 1.5 MiB. */
export const maxManifestBytes = 8 * 1024 * 1024
/** How many manifests are read: more than any apply has. */
export const maxManifestFiles = 5_000
/** How many objects references or manifests may name: more than any apply has. Each needs a watch. */
export const maxNamedObjects = 5_000
/** After this number of server errors, a kind of a Helm release is skipped: its conversion webhook may be down. */
export const maxKindErrors = 3
/** The tolerance between the time of a Helm revision and of its objects, because both are whole seconds. */
export const releaseClockMs = 2_000
/** How long Helm may take from a revision's start to its last workload or hook: twice Helm's default `--timeout`. */
export const hookLeadMs = 600_000
/** How many kinds of a Helm release are listed at the same time: few enough for API priority and fairness. */
export const releaseListsAtOnce = 8
/** How many lines `http-checks` may have: each sends a request to a pod every few seconds. */
export const maxRequestLines = 100
/** How long a revision (`--revision`) may take to arrive by default: Argo CD and Flux poll every few minutes. */
export const awaitRevisionMs = 600_000
/** The default interval at which Argo CD polls for new revisions: `timeout.reconciliation` with its jitter. */
export const argoPollMs = 180_000
/** How many objects that an operator has deployed become targets: most applications have fewer. Each needs a watch. */
export const maxDeployed = 500
/** The interval of lists until a selector has its first match. */
export const selectorPollMs = 1_000
/** The time limit of a git command: most take about 5 ms. */
export const gitMs = 5_000
/** How many commits before and after an awaited revision are read from the checkout, and recorded. */
export const maxCommitsAround = 200
/** The maximum duration of a recording: GitHub ends a workflow run after 35 days. */
export const maxRecordedMs = 35 * 86_400_000
/** How long after its longest timeout a replay cancels an open gate: nothing else would end the gate. */
export const replayCancelMs = 3_600_000
/** The maximum length of a recorded line: a small compressed file may contain an endless line. */
export const maxRecordedLineBytes = 16 << 20
/** How many lines a recording may have: a week on a large cluster writes far fewer. */
export const maxRecordedLines = 1_000_000
/** The maximum size of a recording after decompression. */
export const maxRecordingBytes = 1 << 30
