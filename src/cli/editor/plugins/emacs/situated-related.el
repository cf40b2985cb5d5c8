;;; situated-related.el --- The situated editor plugin: notes near the one that is edited  -*- lexical-binding: t; -*-

;;; Commentary:

;; A side window that follows the selected buffer.

;;; Code:

(require 'situated)

(defconst situated-related--name "*situated related*")

(defvar situated-related--client nil "Connection of the window, while it is shown.")
(defvar situated-related--timer nil "Looks at where point is once Emacs is idle.")
(defvar situated-related--request nil "Id of the request that runs.")
(defvar situated-related--asked nil "The file and line that were asked about last.")

(defvar situated-related-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'situated-related-open)
    (define-key map (kbd "C-o") #'situated-related-open-other-window)
    (define-key map (kbd "q") #'situated-related)
    map))

(define-derived-mode situated-related-mode situated-hits-mode "Related"
  "Major mode of the window with related notes."
  (add-hook 'kill-buffer-hook #'situated-related--stop nil t))

(defun situated-related--show (result failure)
  "Show RESULT or FAILURE in the window."
  (let ((buffer (get-buffer situated-related--name)))
    (when buffer
      (with-current-buffer buffer
        (if failure
            (situated--insert-failure failure)
          (situated--insert (alist-get 'hits result)))))))

(defun situated-related--answered (result failure line)
  "Show RESULT or FAILURE of a request about LINE, or the whole note if nil."
  (setq situated-related--request nil)
  (cond ((not (equal (alist-get 'kind failure) "not_found"))
         (when failure
           (setq situated-related--asked nil)) ; so that it is asked again
         (situated-related--show result failure))
        ;; Nothing that is indexed stands on this line: then the whole note.
        (line (situated-related--ask (car situated-related--asked) nil))
        ;; Not indexed, or not yet.
        (t (situated-related--show nil nil))))

(defun situated-related--ask (file line)
  "Ask what is near LINE of FILE; nil for the whole of it."
  (let ((client situated-related--client))
    (when situated-related--request
      (situated-client-cancel client situated-related--request)
      (setq situated-related--request nil))
    (pcase (and (eq (situated-client-state client) 'ready) (situated-client-locate client file))
      (`(,vault . ,path)
       (setq situated-related--request
             (situated-client-request
              client "related"
              `((path . ,path) (vault . ,vault) ,@(and line `((line . ,line)))
                (group . "note") (limit . ,situated-related-limit))
              (lambda (result failure) (situated-related--answered result failure line)))))
      ((guard (and (eq (situated-client-state client) 'ready) (situated-client-roots client)))
       (situated-related--show nil nil))
      ;; Which vaults there are is known once the connection stands, as it does when `ping' is answered.  The daemon
      ;; ends it when it serves others, or by other names.
      (_ (setq situated-related--request
               (situated-client-request
                client "ping" nil
                (lambda (_result failure)
                  (setq situated-related--request nil)
                  (if (and (not failure) (situated-client-roots client))
                      (situated-related--ask file line)
                    (situated-related--answered nil failure nil)))))))))

(defun situated-related--follow (&optional anew)
  "Look at the selected buffer; ask about it again if ANEW.
Buffers without a file leave the window as it is."
  (when (and situated-related--client buffer-file-name (not (minibufferp))
             ;; Nobody sees the answer of a hidden window.
             (get-buffer-window situated-related--name t))
    (let ((asked (cons buffer-file-name (line-number-at-pos nil t))))
      (when (or anew (not (equal asked situated-related--asked)))
        (setq situated-related--asked asked)
        (situated-related--ask (car asked) (cdr asked))))))

(defun situated-related--idle ()
  "Follow the buffer of the selected window."
  (with-current-buffer (window-buffer)
    (situated-related--follow)))

(defun situated-related--saved ()
  "Ask again, for the note has changed."
  (when (eq (current-buffer) (window-buffer))
    (situated-related--follow t)))

(defun situated-related--event (event)
  "Ask again when EVENT says that the index has changed."
  (when (and (equal (alist-get 'kind event) "index") situated-related--asked
             (get-buffer-window situated-related--name t))
    (situated-related--ask (car situated-related--asked) (cdr situated-related--asked))))

(defun situated-related--display (buffer)
  "Show BUFFER at the side."
  (display-buffer buffer '(display-buffer-in-side-window (side . right) (window-width . 44))))

(defun situated-related--stop ()
  "End what keeps the window current."
  (remove-hook 'after-save-hook #'situated-related--saved)
  (when situated-related--timer
    (cancel-timer situated-related--timer))
  (when situated-related--client
    (situated-client-close situated-related--client))
  (setq situated-related--timer nil
        situated-related--client nil
        situated-related--request nil
        situated-related--asked nil))

(defun situated-related-open (&optional other-window)
  "Open the note at point, in another window if OTHER-WINDOW."
  (interactive)
  (let ((hit (get-text-property (point) 'situated-hit)))
    (when hit
      ;; A side window is not for files.
      (let ((window (get-mru-window nil nil t)))
        (when window (select-window window)))
      (situated--open situated-related--client hit other-window))))

(defun situated-related-open-other-window ()
  "Open the note at point in another window."
  (interactive)
  (situated-related-open t))

;;;###autoload
(defun situated-related ()
  "Show or hide a window with the notes near the one that is edited."
  (interactive)
  (cond
   ((get-buffer-window situated-related--name t)
    (delete-window (get-buffer-window situated-related--name t))
    (kill-buffer situated-related--name))
   ;; Another command, such as `delete-other-windows', has hidden it.
   ((get-buffer situated-related--name)
    (situated-related--display (get-buffer situated-related--name))
    (situated-related--follow t))
   (t
    (let ((client (situated-client-make)))
      (setf (situated-client-on-event client) #'situated-related--event
            ;; What was saved is found a moment later; the daemon says when.
            (situated-client-on-ready client)
            (lambda ()
              (situated-client-request client "subscribe" '((events . ["index"])) #'ignore)))
      (with-current-buffer (get-buffer-create situated-related--name)
        (situated-related-mode)
        (situated-related--display (current-buffer)))
      (setq situated-related--client client
            situated-related--timer (run-with-idle-timer 0.3 t #'situated-related--idle))
      (add-hook 'after-save-hook #'situated-related--saved)
      (situated-related--follow t)))))

(provide 'situated-related)
;;; situated-related.el ends here
