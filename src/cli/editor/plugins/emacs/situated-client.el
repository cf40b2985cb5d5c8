;;; situated-client.el --- Connection of the situated editor plugin to its daemon  -*- lexical-binding: t; -*-

;; Part of the situated editor plugin.  Package-Requires: ((emacs "27.1"))

;;; Commentary:

;; Requests over a Unix socket, a line of JSON each.  Nothing here waits.

;;; Code:

(require 'cl-lib)
(require 'json)

(defgroup situated nil
  "Search of Markdown notes."
  :group 'convenience)

(defcustom situated-command "situated"
  "Program that is asked once where its socket is."
  :type 'string)

(defcustom situated-socket nil
  "Path of the socket, if the program should not be asked for it."
  :type '(choice (const :tag "Ask" nil) file))

(defcustom situated-timeout 10
  "Seconds that an answer may take."
  :type 'number)

(defconst situated-client--start
  "Start it with `situated run VAULT', or for good with `situated service install'.")

(defvar situated-client--found nil
  "What `situated socket' told, kept until it proves wrong.")

;; Tests put functions that count in place of these two.
(defvar situated-client--find (lambda (text from) (string-match-p "\n" text from)))
(defvar situated-client--join (lambda (pieces) (apply #'concat pieces)))

(cl-defstruct (situated-client (:constructor situated-client-make) (:copier nil))
  (state nil)                           ; nil, `connecting' or `ready'
  (process nil)
  (pieces nil)                          ; of the line that is not whole yet, newest first
  (roots nil)                           ; of the vaults, by name
  (next-id 1)
  (pending (make-hash-table))           ; (CALLBACK . TIMER) by id
  (queue nil)                           ; (ID METHOD PARAMS), newest first, until the connection stands
  (on-event nil)                        ; gets the parameters of `event' notifications
  (on-ready nil))                       ; called whenever a connection stands

(defun situated-client--lines (pieces text on-line)
  "Call ON-LINE with each line that TEXT ends; return the pieces left over.
PIECES are those left over before, newest first.  A long answer
comes in many pieces, so each byte is looked at once: only in the
new piece, and joined once, when the line is whole."
  (let ((from 0) stop)
    (while (setq stop (and (< from (length text)) (funcall situated-client--find text from)))
      (push (substring text from stop) pieces)
      (funcall on-line (funcall situated-client--join (nreverse pieces)))
      (setq pieces nil
            from (1+ stop)))
    (if (< from (length text)) (cons (substring text from) pieces) pieces)))

(defun situated-client-request (client method params callback)
  "Ask CLIENT for METHOD with PARAMS, an alist, and return the request's id.
CALLBACK gets the result and nil, or nil and a failure, an alist
of `message', `hint' and `kind'; it is called once, unless the
request is cancelled."
  (let ((id (situated-client-next-id client)))
    (setf (situated-client-next-id client) (1+ id))
    (puthash id (cons callback (run-at-time situated-timeout nil #'situated-client--late client id))
             (situated-client-pending client))
    (push (list id method params) (situated-client-queue client))
    (situated-client--flush client)
    id))

(defun situated-client-cancel (client id)
  "Drop the answer of CLIENT's request ID, and spare the daemon the work."
  (when (situated-client--forget client id)
    (if (assq id (situated-client-queue client))
        (setf (situated-client-queue client) (assq-delete-all id (situated-client-queue client)))
      (situated-client--send client `((method . "cancel") (params . ((id . ,id))))))))

(defun situated-client-close (client)
  "End CLIENT's connection, and drop what it asked."
  (dolist (id (hash-table-keys (situated-client-pending client)))
    (situated-client--forget client id))
  (situated-client--disconnect client))

(defun situated-client-locate (client file)
  "Return (VAULT . PATH) of FILE, nil if it lies in no vault that CLIENT knows.
The longest root wins, for vaults may lie in each other."
  (let (best (length -1))
    (dolist (name (list file (file-truename file)) best)
      (pcase-dolist (`(,vault . ,root) (situated-client-roots client))
        (dolist (start (list root (file-truename root)))
          (setq start (file-name-as-directory start))
          (when (and (> (length start) length) (string-prefix-p start name))
            (setq length (length start)
                  best (cons vault (substring name length)))))))))

(defun situated-client--late (client id)
  "Say that CLIENT's request ID was not answered in time."
  (let ((failure '((message . "The situated daemon does not answer.")
                   (hint . "`situated status' says how it is."))))
    (if (not (eq (situated-client-state client) 'ready))
        (situated-client--fail client failure) ; not even to `hello'
      (situated-client--send client `((method . "cancel") (params . ((id . ,id)))))
      (situated-client--settle client id nil failure))))

(defun situated-client--forget (client id)
  "Take CLIENT's request ID from those that wait, and return its callback."
  (let ((request (gethash id (situated-client-pending client))))
    (when request
      (remhash id (situated-client-pending client))
      (cancel-timer (cdr request))
      (car request))))

(defun situated-client--settle (client id result failure)
  "Give CLIENT's request ID its RESULT or FAILURE."
  (let ((callback (situated-client--forget client id)))
    (when callback
      (funcall callback result failure))))

(defun situated-client--send (client message)
  "Send MESSAGE, an alist, over CLIENT's connection, if there is one."
  (let ((process (situated-client-process client)))
    (when (process-live-p process)
      (process-send-string
       process
       (concat (encode-coding-string (json-encode `((jsonrpc . "2.0") ,@message)) 'utf-8) "\n")))))

(defun situated-client--flush (client)
  "Send what waits in CLIENT's queue, or connect first."
  (pcase (situated-client-state client)
    ('ready
     (let ((queue (nreverse (situated-client-queue client))))
       (setf (situated-client-queue client) nil)
       (pcase-dolist (`(,id ,method ,params) queue)
         (situated-client--send
          client `((id . ,id) (method . ,method) ,@(and params `((params . ,params))))))))
    ('nil (situated-client--connect client))))

(defun situated-client--disconnect (client)
  "End CLIENT's connection."
  (let ((process (situated-client-process client)))
    (setf (situated-client-state client) nil
          (situated-client-process client) nil
          (situated-client-pieces client) nil
          (situated-client-queue client) nil)
    (when process
      (set-process-sentinel process #'ignore)
      (set-process-filter process #'ignore)
      (delete-process process))))

(defun situated-client--fail (client failure)
  "Answer all of CLIENT's requests with FAILURE; the next one connects anew."
  (situated-client--disconnect client)
  (dolist (id (sort (hash-table-keys (situated-client-pending client)) #'<))
    (situated-client--settle client id nil failure)))

(defun situated-client--connect (client)
  "Connect CLIENT, asking the program for the socket if need be."
  (setf (situated-client-state client) 'connecting)
  (let* ((told (getenv "SITUATED_SOCKET"))
         (path (or situated-socket (and told (not (string= told "")) told) situated-client--found)))
    (if path
        (situated-client--open client path)
      (situated-client--ask-program client))))

(defun situated-client--ask-program (client)
  "Have the program say where the socket is, then connect CLIENT."
  (let* ((output "")
         (default-directory "/")        ; the buffer's may be gone, or on another machine
         (unknown `((message . ,(format "`%s socket' does not say where the daemon is." situated-command))
                    (hint . "Install situated, or set `situated-command' or `situated-socket'."))))
    (condition-case nil
        (setf (situated-client-process client)
              (make-process
               :name "situated-socket" :command (list situated-command "socket")
               :connection-type 'pipe :noquery t :coding 'utf-8
               :filter (lambda (_process text) (setq output (concat output text)))
               :sentinel
               (lambda (process _event)
                 (unless (process-live-p process)
                   (let ((path (car (split-string output "\n"))))
                     (setf (situated-client-process client) nil)
                     (if (or (/= 0 (process-exit-status process)) (string= path ""))
                         (situated-client--fail client unknown)
                       (setq situated-client--found path)
                       (situated-client--open client path)))))))
      (file-error (situated-client--fail client unknown)))))

(defun situated-client--open (client path)
  "Connect CLIENT with the socket at PATH."
  ;; With `:nowait' Emacs 28 tells nobody that there is no such socket; connecting on the same machine takes no time.
  (condition-case nil
      (setf (situated-client-process client)
            (make-network-process
             :name "situated" :family 'local :service path :noquery t
             :coding 'no-conversion     ; bytes: a character may be split between two pieces
             :filter (lambda (process text) (situated-client--filter client process text))
             :sentinel (lambda (process _event) (situated-client--ended client process))))
    (file-error (situated-client--away client)))
  (situated-client--send client '((id . 0) (method . "hello") (params . ((client . "situated.el"))))))

(defun situated-client--away (client)
  "Say that CLIENT found no daemon."
  (setq situated-client--found nil)
  (situated-client--fail client `((message . "The situated daemon is not running.")
                                  (hint . ,situated-client--start))))

(defun situated-client--ended (client process)
  "Say that CLIENT's PROCESS has ended, if it has."
  (unless (process-live-p process)
    (situated-client--fail client `((message . "The situated daemon ended the connection.")
                                    (hint . ,(concat "Try again.  " situated-client--start))))))

(defun situated-client--filter (client process text)
  "Take TEXT that CLIENT's PROCESS has read."
  (let ((left (situated-client--lines
               (situated-client-pieces client) text
               (lambda (line)
                 ;; An answer may have closed the connection.
                 (when (eq process (situated-client-process client))
                   (situated-client--receive client line))))))
    (when (eq process (situated-client-process client))
      (setf (situated-client-pieces client) left))))

(defun situated-client--parse (line)
  "Return what LINE, bytes of JSON, says, with alists; nil if it is none."
  (let ((text (decode-coding-string line 'utf-8)))
    (or (ignore-errors
          (json-parse-string text :object-type 'alist :array-type 'list
                             :null-object nil :false-object nil))
        ;; Emacs may be built without that, and some of its versions refuse the escape of NUL.
        (let ((json-object-type 'alist) (json-array-type 'list) (json-null nil) (json-false nil))
          (ignore-errors (json-read-from-string text))))))

(defun situated-client--receive (client line)
  "Act on LINE that the daemon sent to CLIENT."
  (let-alist (situated-client--parse line)
    (let ((failure (and .error
                        `((message . ,.error.message)
                          ;; The message may say it already.
                          (hint . ,(and .error.data.hint
                                        (not (string-suffix-p .error.data.hint (or .error.message "")))
                                        .error.data.hint))
                          (kind . ,.error.data.kind)))))
      (cond ((equal .method "event")
             (when (situated-client-on-event client)
               (funcall (situated-client-on-event client) .params)))
            ((and failure (memq .id '(nil 0))) ; too many connections, or no protocol in common
             (situated-client--fail client failure))
            ((eql .id 0)
             (setf (situated-client-roots client)
                   (mapcar (lambda (vault) (cons (alist-get 'name vault) (alist-get 'path vault)))
                           .result.vaults)
                   (situated-client-state client) 'ready)
             (when (situated-client-on-ready client)
               (funcall (situated-client-on-ready client)))
             (situated-client--flush client))
            ((and (null .id) (null .method)) ; not JSON, or no answer to anything
             (situated-client--fail
              client '((message . "What answers on the socket does not speak as situated does."))))
            (.id (situated-client--settle client .id .result failure))))))

(provide 'situated-client)
;;; situated-client.el ends here
